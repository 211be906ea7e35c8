trl reward --model_name_or_path=Qwen/Qwen2-0.5B-Instruct --dataset_name=trl-lib/ultrafeedback_binarized \
  --output_dir=Qwen2-0.5B-Reward --per_device_train_batch_size=8 --num_train_epochs=1 \
  --gradient_accumulation_steps=2 --gradient_checkpointing=True --learning_rate=1.0e-5 --max_length=2048
