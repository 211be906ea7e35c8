CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=2 sft.py --model_name_or_path facebook/opt-350m \
  --dataset_name stanfordnlp/imdb --dataset_text_field text --learning_rate 2e-5 --max_length 512 \
  --per_device_train_batch_size 8 --num_train_epochs 2 --weight_decay 0.1 --optim adamw_8bit \
  --gradient_accumulation_steps 1 --seed 7 --bf16 True --deepspeed ds_z2_config.json --output_dir out
