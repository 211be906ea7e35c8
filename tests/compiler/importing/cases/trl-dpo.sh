accelerate launch --num_processes 4 --mixed_precision bf16 trl/scripts/dpo.py \
  --dataset_name trl-lib/ultrafeedback_binarized --dataset_config default \
  --model_name_or_path Qwen/Qwen2-0.5B-Instruct --learning_rate 5.0e-7 --beta 0.2 --loss_type ipo \
  --per_device_train_batch_size 2 --gradient_accumulation_steps 4 --max_length 1024 --max_steps 1000 \
  --warmup_steps 50 --lr_scheduler_type cosine --report_to wandb --run_name zephyr
