"""The model ladder: tokenizer, tiny Qwen2 models, pretraining, pretrained models, LoRA."""
