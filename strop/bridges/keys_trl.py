"""The settings of TRL 1.16.0's GRPOTrainer: those that decide what is computed, with their defaults, and all others.

Read in trl/trainer/grpo_config.py and transformers' TrainingArguments; `trl grpo --config` also takes those of its
script and of its model. A test in TRL's virtualenv compares both tables with the installed dataclasses.
"""

from __future__ import annotations

from typing import Any

DEFAULTS: dict[str, Any] = {
    "adam_beta1": 0.9,
    "adam_beta2": 0.999,
    "beta": 0.0,
    "delta": None,
    "entropy_coef": 0.0,
    "epsilon": 0.2,
    "epsilon_high": None,
    "generation_batch_size": None,
    "generation_kwargs": None,
    "gradient_accumulation_steps": 1,
    "importance_sampling_level": "token",
    "learning_rate": 1e-6,
    "loss_type": "dapo",
    "lr_scheduler_type": "linear",
    "mask_truncated_completions": False,
    "max_completion_length": 512,
    "max_grad_norm": 1.0,
    "min_p": None,
    "multi_objective_aggregation": "sum_then_normalize",
    "num_generations": 8,
    "num_iterations": 1,
    "off_policy_mask_threshold": None,
    "per_device_train_batch_size": 8,
    "repetition_penalty": 1.0,
    "sapo_temperature_neg": 1.05,
    "sapo_temperature_pos": 1.0,
    "scale_rewards": "group",
    "seed": 42,
    "steps_per_generation": None,
    "sync_ref_model": False,
    "temperature": 1.0,
    "top_entropy_quantile": 1.0,
    "top_k": 0,
    "top_p": 1.0,
    "use_adaptive_entropy": False,
    "use_bias_correction_kl": True,
    "use_vllm": False,
    "vespo_k_neg": 3.0,
    "vespo_k_pos": 2.0,
    "vespo_lambda_neg": 2.0,
    "vespo_lambda_pos": 3.0,
    "vllm_importance_sampling_cap": None,
    "vllm_importance_sampling_clip_max": 3.0,
    "vllm_importance_sampling_clip_min": None,
    "vllm_importance_sampling_correction": True,
    "vllm_importance_sampling_mode": "sequence_mask",
    "warmup_steps": 0,
    "weight_decay": 0.0,
}

_OTHERS = """
accelerator_config activation_checkpointing activation_checkpointing_kwargs adam_epsilon auto_find_batch_size
average_tokens_across_devices batch_eval_metrics bf16 bf16_full_eval cache_implementation cast_lm_head_to_fp32
chat_template_kwargs data_seed dataloader_drop_last dataloader_in_order dataloader_multiprocessing_context
dataloader_num_workers dataloader_persistent_workers dataloader_pin_memory dataloader_prefetch_factor ddp_backend
ddp_broadcast_buffers ddp_bucket_cap_mb ddp_find_unused_parameters ddp_static_graph ddp_timeout debug deepspeed
disable_dropout disable_tqdm do_eval do_predict do_train ds3_gather_for_generation enable_jit_checkpoint
entropy_coef_delta entropy_coef_max entropy_coef_min entropy_target eval_accumulation_steps eval_delay
eval_do_concat_batches eval_on_start eval_steps eval_strategy eval_use_gather_object fp16 fp16_full_eval fsdp
fsdp_config full_determinism gradient_checkpointing gradient_checkpointing_kwargs greater_is_better hub_always_push
hub_model_id hub_private_repo hub_revision hub_strategy hub_token ignore_data_skip include_for_metrics
include_num_input_tokens_seen label_names label_smoothing_factor length_column_name liger_kernel_config
load_best_model_at_end local_rank log_completions log_completions_hub_repo log_level log_level_replica log_multimodal
log_on_each_node log_unique_prompts logging_first_step logging_nan_inf_filter logging_steps logging_strategy
lr_scheduler_kwargs max_steps max_tool_calling_iterations metric_for_best_model model_init_kwargs neftune_noise_alpha
num_completions_to_print num_generations_eval num_train_epochs optim optim_args optim_target_modules output_dir
pad_to_multiple_of parallelism_config per_device_eval_batch_size prediction_loss_only project push_to_hub
ref_model_mixup_alpha ref_model_sync_steps remove_unused_columns report_to restore_callback_states_from_checkpoint
resume_from_checkpoint reward_weights router_aux_loss_coef run_name save_on_each_node save_only_model save_steps
save_strategy save_total_limit shuffle_dataset skip_memory_metrics tf32 torch_compile torch_compile_backend
torch_compile_mode torch_empty_cache_steps trackio_bucket_id trackio_space_id trackio_static_space_id
train_sampling_strategy transformers_continuous_batching_config trust_remote_code use_cache use_cpu use_liger_kernel
use_transformers_continuous_batching use_transformers_paged vllm_enable_sleep_mode vllm_gpu_memory_utilization
vllm_group_port vllm_max_model_length vllm_mode vllm_model_impl vllm_server_base_url vllm_server_host
vllm_server_port vllm_server_timeout vllm_structured_outputs_regex vllm_tensor_parallel_size
"""
OTHERS = frozenset(_OTHERS.split())
"""Fields of GRPOConfig that no formula reads."""

_SCRIPT = """
attn_implementation bnb_4bit_quant_storage bnb_4bit_quant_type dataset_config dataset_name dataset_streaming
dataset_test_split dataset_train_split dtype ignore_bias_buffers load_in_4bit load_in_8bit lora_alpha lora_dropout
lora_modules_to_save lora_r lora_target_modules lora_target_parameters lora_task_type model_name_or_path
model_revision reward_funcs reward_model_name_or_path use_bnb_nested_quant use_dora use_peft use_rslora
"""
SCRIPT = frozenset(_SCRIPT.split())
"""What `trl grpo` takes beside: the fields of its script's arguments and of ModelConfig."""
