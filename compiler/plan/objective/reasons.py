"""The reasons for an objective's decisions in English, one sentence per key."""

from collections.abc import Mapping
from typing import Final

SENTENCES: Final[Mapping[str, str]] = {
    "metric.rewards": "how often the better of two answers gets the higher reward, and by how much",
    "metric.relevance": "evaluate.py measures how the model ranks what BM25 finds, beside BM25 and "
    "the base",
    "metric.correlation": "evaluate.py measures Spearman's correlation with the scores of the "
    "data, beside BM25 and the base",
    "metric.vectors": "evaluate.py measures nDCG@10, MRR@10 and recall@10, beside BM25 and the "
    "base",
    "pooling.own": "as the model's modules.json says",
    "pooling.encoder": "where the model has no modules.json: an encoder's tokens see the whole "
    "text",
    "pooling.both_ways": "where the model has no modules.json: its config.json lets each token see "
    "the whole text",
    "pooling.causal": "where the model has no modules.json: only the last token has seen all "
    "others",
    "wrong_texts.usual": "as many as sentence-transformers' `mine_hard_negatives` takes per query",
    "metric.classes": "it gives each of {labels} labels the same weight, however rare",
    "best_by.classes": "the metric of a classification, which costs nothing extra at an evaluation",
    "rewards.numeric": "{share} of the answers in the data contain a number; the last one is "
    "compared",
    "rewards.exact": "answers are compared with those in the data, ignoring case and white space",
    "vllm_share.colocate": "{needed_bytes} while it generates: {weights_bytes} for a second copy "
    "of the weights, {cache_bytes} for keys and values; asleep, it needs none of them",
    "vllm_share.server": "of the last GPU, which is its own; it needs {needed_bytes}: "
    "{weights_bytes} for the weights, {cache_bytes} for keys and values, {arriving_bytes} for new "
    "weights that arrive",
    "generations.left_out": "as in RLOO's paper: an answer is compared with the mean of the others",
    "generations.usual": "TRL's default: enough answers for their mean reward to be a baseline",
    "beta.divergence": "the usual divergence of {objective}: 0 is the forward KL, 1 the reverse KL",
    "teacher_bytes": "the teacher's {parameters} parameters, {bits}, whole on every process",
    "teacher_rows": "as many as the student's: the rows from there to {rows} are of no token",
    "beta.none": "verifiable rewards need no reference model, which would cost a forward pass",
    "answer_tokens.sampled": "1.5 times the longest answer in the data, which has {tokens} "
    "{tokens:token|tokens}; at least 64, at most 1024",
    "answer_tokens.sampled.room": "the model's context minus the longest prompt of {prompt} tokens",
    "answer_tokens.reasoning": "the references are final answers of at most {tokens} "
    "{tokens:token|tokens}, and "
    "this leaves room for the usual reasoning before one, of about 200",
    "answer_tokens.reasoning.room": "the model's context minus the longest prompt of {prompt} "
    "tokens; reasoning takes 150 to 300",
    "answer_tokens.thinking": "the model reasons before each answer, at length: set more if "
    "answers are cut, or `data.template_options.enable_thinking` to false if its template reads "
    "that",
    "answer_tokens.thinking.room": "the model's context minus the longest prompt of {prompt} "
    "tokens; the model reasons before each answer, at length",
    "answer_tokens.prompts": "room for reasoning and an answer, where the data have no answers to "
    "measure; set `objective.answer_tokens` to what the task needs",
    "answer_tokens.prompts.room": "the model's context minus the longest prompt of {prompt} tokens",
    "answer_tokens.called": "an answer as without tools, and {each} tokens for each of {rounds} "
    "calls with its result",
    "answer_tokens.called.room": "the model's context minus the longest prompt of {prompt} tokens, "
    "which declares the tools; each of {rounds} calls and its result takes {each} or more",
    "global_batch.groups": "{group} answers to each of {prompts} prompts: about a hundredth of "
    "{rows} prompts, between 4 and 16",
    "global_batch.grouped": "the multiple of {unit} answers (whole groups, processes and "
    "micro-batches) nearest to {asked}",
    "lora_dropout.sampling": "the same weights sample the answers and learn from them, so there "
    "is no dropout",
    "grouping.sampling": "prompts are drawn at random, and the length of an answer is not known "
    "in advance",
    "learning_rate.sampling_full": "1e-6 at 7B as in the GRPO paper, falling with size^0.4: a "
    "reward carries little information per token; this model has {parameters}",
    "learning_rate.sampling_adapter": "1e-5 at 7B, ten times GRPO's rate for all weights, falling "
    "with size^0.4; this model has {parameters}",
    "epochs.sampling_few": "{rows} prompts are few; every epoch samples new answers to them",
    "epochs.sampling": "{rows} prompts; one epoch samples several answers to each of them",
    "epochs.sampling_one": "{rows} prompts; one epoch samples one answer to each of them",
    "best_by.reward": "the mean reward of answers to the validation rows, because the loss of "
    "sampled answers does not measure quality",
    "metric.numeric_reward": "the reward of the most likely answers to rows that are not used in "
    "training",
    "metric.exact_reward": "the reward of the most likely answers to rows that are not used in "
    "training",
    "metric.other_reward": "how often the most likely answer equals the answer in the data, "
    "besides the rewards",
    "matryoshka": "{sizes} sizes with the full one: the loss compares the vectors of a step at "
    "each, which takes no further pass of the model and {extra_mib} MiB",
    "hard_negatives": "prepare.py reads all texts of the training split once, with the untrained "
    "model; each is one more text of a row",
    "hard_negatives.time": "prepare.py reads all texts of the training split once, with the "
    "untrained model, in about {seconds} s; each is one more text of a row",
    "global_batch.documents_per_row": "the {documents} different texts that are found, divided by "
    "the {texts} of a row: no text is twice in a step",
}
