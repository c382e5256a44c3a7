# The ladder's base models. The repository ships them, as a downloaded LLM would come; `snakemake base_models` makes them
# again. Their rules write beside the shipped ones and replace those only when all is done: a failure loses nothing.
