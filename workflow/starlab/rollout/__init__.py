"""Batched multi-turn generation that keeps its KV cache: episodes, the cache, decoders and the engine."""
