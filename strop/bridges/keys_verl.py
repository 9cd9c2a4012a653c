"""The settings of verl 0.9.1 that decide what is computed, with their defaults, and the names of those around them.

Read in verl/trainer/config/ (actor/actor.yaml, ppo_trainer.yaml, data, rollout and reward beside them). A test in
verl's virtualenv compares both tables with the installed trainers' generated YAML files.
"""

from __future__ import annotations

from typing import Any

ACTOR, ROLLOUT = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"
LOSS, OPTIM = f"{ACTOR}.policy_loss", f"{ACTOR}.optim"
CORRECTION, FILTER = "algorithm.rollout_correction", "algorithm.filter_groups"
OVERLONG = "reward.reward_kwargs.overlong_buffer_cfg"

DEFAULTS: dict[str, Any] = {
    f"{ACTOR}.clip_ratio": 0.2,
    f"{ACTOR}.clip_ratio_low": 0.2,
    f"{ACTOR}.clip_ratio_high": 0.2,
    f"{ACTOR}.clip_ratio_c": 3.0,
    f"{ACTOR}.loss_agg_mode": "token-mean",
    f"{ACTOR}.loss_scale_factor": None,
    f"{ACTOR}.entropy_coeff": 0,
    f"{ACTOR}.tau_pos": 1.0,
    f"{ACTOR}.tau_neg": 1.05,
    f"{ACTOR}.use_kl_loss": False,
    f"{ACTOR}.kl_loss_coef": 0.001,
    f"{ACTOR}.kl_loss_type": "low_var_kl",
    f"{ACTOR}.ppo_mini_batch_size": 256,
    f"{ACTOR}.ppo_epochs": 1,
    f"{ACTOR}.shuffle": False,
    f"{LOSS}.loss_mode": "vanilla",
    f"{LOSS}.dro_beta": None,
    f"{OPTIM}.lr": 1e-6,
    f"{OPTIM}.weight_decay": 0.01,
    f"{OPTIM}.betas": [0.9, 0.999],
    f"{OPTIM}.clip_grad": 1.0,
    f"{OPTIM}.lr_warmup_steps": -1,
    f"{OPTIM}.lr_warmup_steps_ratio": 0.0,
    f"{OPTIM}.lr_scheduler_type": "constant",
    f"{ROLLOUT}.n": 1,
    f"{ROLLOUT}.temperature": 1.0,
    f"{ROLLOUT}.top_k": -1,
    f"{ROLLOUT}.top_p": 1,
    f"{ROLLOUT}.do_sample": True,
    "algorithm.adv_estimator": "gae",
    "algorithm.norm_adv_by_std_in_grpo": True,
    "algorithm.use_kl_in_reward": False,
    "algorithm.kl_ctrl.kl_coef": 0.001,
    "algorithm.use_pf_ppo": False,
    f"{FILTER}.enable": False,
    f"{FILTER}.metric": "reward",
    f"{FILTER}.max_num_gen_batches": 0,
    f"{CORRECTION}.rollout_is": None,
    f"{CORRECTION}.rollout_is_threshold": 2.0,
    f"{CORRECTION}.rollout_is_batch_normalize": False,
    f"{CORRECTION}.rollout_rs": None,
    f"{CORRECTION}.bypass_mode": False,
    f"{CORRECTION}.loss_type": "ppo_clip",
    "data.train_batch_size": 1024,
    "data.max_prompt_length": 512,
    "data.max_response_length": 512,
    "reward.reward_manager.name": "naive",
    "trainer.use_v1": True,
}

NO_DEFAULT: dict[str, Any] = {
    f"{OVERLONG}.enable": False,
    f"{OVERLONG}.len": 0,
    f"{OVERLONG}.penalty_factor": 1.0,
    "reward.reward_kwargs.max_resp_len": None,
}
"""Settings that verl reads without having them in its own files: a user adds them with +."""

_ACTOR = """
_target_ calculate_entropy calculate_sum_pi_squared checkpoint clip_ratio clip_ratio_c clip_ratio_high clip_ratio_low
data_loader_seed entropy_checkpointing entropy_coeff entropy_from_logits_chunk_size entropy_from_logits_with_chunking
freeze_vision_tower fsdp_config grad_clip kl_loss_coef kl_loss_type loss_agg_mode loss_scale_factor megatron optim
pad_to_length policy_loss ppo_epochs ppo_max_token_len_per_gpu ppo_micro_batch_size ppo_micro_batch_size_per_gpu
ppo_mini_batch_size profiler qat rollout_n shuffle strategy tau_neg tau_pos torchtitan ulysses_sequence_parallel_size
use_dynamic_bsz use_fused_kernels use_kl_loss use_prefix_grouper use_remove_padding use_torch_compile veomni
"""
_ROLLOUT = """
_target_ agent calculate_log_probs checkpoint_engine cudagraph_capture_sizes data_parallel_size disable_log_stats
disaggregation do_sample dtype enable_chunked_prefill enable_prefix_caching enable_rollout_routing_replay enforce_eager
engine_kwargs expert_parallel_size free_cache_engine full_determinism gpu_memory_utilization ignore_eos layered_summon
load_format log_prob_max_token_len_per_gpu log_prob_micro_batch_size log_prob_micro_batch_size_per_gpu
log_prob_use_dynamic_bsz logprobs_mode max_model_len max_num_batched_tokens max_num_seqs mode
moe_load_balance_metrics_interval mtp multi_stage_wake_up multi_turn n n_gpus_per_node name nnodes over_sample_rate
pipeline_model_parallel_size profiler prometheus prompt_length qat quantization quantization_config_file
response_length router_config_path scheduling_policy seed skip_tokenizer_init temperature tensor_model_parallel_size
top_k top_p trace val_kwargs
"""
_DATA = """
apply_chat_template_kwargs audio_key custom_cls dataloader_num_workers filter_overlong_prompts
filter_overlong_prompts_workers function_tool_path gen_batch_size image_key image_patch_size max_prompt_length
max_response_length mm_processor_kwargs prompt_key return_full_prompt return_multi_modal_inputs return_raw_chat
return_raw_input_ids reward_fn_key seed shuffle tokenizer tool_config_path train_batch_size train_files
train_max_samples truncation trust_remote_code use_shm val_batch_size val_files val_max_samples validation_shuffle
video_key
"""
_TOP = """
actor_rollout_ref algorithm critic custom_reward_function data distillation global_profiler ray_kwargs reward
reward_model sandbox_fusion skip trainer transfer_queue
"""
_ALGORITHM = """
_target_ adv_estimator filter_groups gamma kl_ctrl kl_penalty lam norm_adv_by_std_in_grpo pf_ppo rollout_correction
use_kl_in_reward use_pf_ppo
"""
_POLICY_LOSS = "_target_ clip_cov_lb clip_cov_ratio clip_cov_ub dro_beta kl_cov_ratio loss_mode ppo_kl_coef"
_FILTER = "_target_ enable max_inflight_gen_batches max_num_gen_batches metric"
_CORRECTION = "bypass_mode loss_type rollout_is rollout_is_batch_normalize rollout_is_threshold rollout_rs"

SECTIONS: dict[str, frozenset[str]] = {
    "": frozenset(_TOP.split()),
    "actor_rollout_ref": frozenset(("actor", "hybrid_engine", "model", "nccl_timeout", "ref", "rollout")),
    ACTOR: frozenset(_ACTOR.split()),
    ROLLOUT: frozenset(_ROLLOUT.split()),
    LOSS: frozenset(_POLICY_LOSS.split()),
    "algorithm": frozenset(_ALGORITHM.split()),
    CORRECTION: frozenset(f"{_CORRECTION} rollout_rs_threshold".split()),
    FILTER: frozenset(_FILTER.split()),
    "data": frozenset(_DATA.split()),
}
"""Section -> the names in it. Those of other sections are taken as they are: no formula reads them."""
