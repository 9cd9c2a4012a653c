"""The embedded policy in TRL's trainer. with_trl.py and with_strop.py differ in two lines.    FILE [STEPS]"""

import sys

import trl
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer

from strop import assets
from strop.bridges.trl import StropGRPOTrainer
from strop.tasks.arithmetic import Arithmetic

tiny = str(assets.folder("strop:tiny"))
prompts = [Arithmetic(seed=1).prompt(draw) for draw in range(2048)]
sums = Dataset.from_list([{"prompt": prompt.content, "answer": prompt.columns["answer"]} for prompt in prompts])


def right(completions, answer, **columns):
    return [float(text.endswith(f"#{digit}")) for text, digit in zip(completions, answer, strict=True)]


args = trl.GRPOConfig(
    output_dir="runs/trl",
    max_steps=int(sys.argv[1]) if len(sys.argv) > 1 else 10,
    per_device_train_batch_size=32,
    gradient_accumulation_steps=2,
    num_generations=8,
    max_completion_length=48,
    learning_rate=1e-4,
    logging_steps=2,
    save_strategy="no",
    report_to="none",
    use_cpu=True,
)
policy = AutoModelForCausalLM.from_pretrained(tiny, dtype="float32")  # it is kept in float16
tokenizer = AutoTokenizer.from_pretrained(tiny)
trainer = StropGRPOTrainer(policy, right, args=args, train_dataset=sums, processing_class=tokenizer, row="dapo_prompt")
trainer.train()
