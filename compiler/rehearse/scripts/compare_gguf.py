"""Compare a 16-bit GGUF with the merged model that it was converted from, token by token.

python compare_gguf.py MERGED GGUF ROWS

Run in a process of its own. MERGED is a folder of transformers, ROWS a file of `prepare.py`. Prints
JSON: mean KL divergence in nats per token of the merged model's next-token distribution from the
GGUF's, how often both find the same token most likely, and the error of the logits as a share of
their own spread, which says the same of a model whose logits are all small.
"""

import json
import sys
from pathlib import Path

import llama_cpp
import torch
from transformers import AutoModelForCausalLM

ROWS = 6
TOKENS = 96  # of each row, from its start

merged, gguf, rows_file = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
lines = rows_file.read_text(encoding="utf-8").splitlines()[:ROWS]
rows = [json.loads(line)["input_ids"][:TOKENS] for line in lines]

custom_code = "auto_map" in json.loads((merged / "config.json").read_text(encoding="utf-8"))
model = AutoModelForCausalLM.from_pretrained(
    merged, dtype=torch.float32, attn_implementation="eager", trust_remote_code=custom_code
)
model.eval()
llm = llama_cpp.Llama(gguf, n_ctx=TOKENS + 8, n_batch=TOKENS + 8, logits_all=True, verbose=False)

divergences, agreed, errors, spreads = [], [], [], []
for ids in rows:
    llm.reset()
    llm.eval(ids)
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0].float()
    # a converter may pad the vocabulary of the output, never cut it
    scores = torch.from_numpy(llm.scores[: len(ids), : logits.shape[-1]].copy()).float()
    meant, said = torch.log_softmax(logits, dim=-1), torch.log_softmax(scores, dim=-1)
    divergences.append((meant.exp() * (meant - said)).sum(dim=-1))
    errors.append((scores - logits).var(dim=-1))
    spreads.append(logits.var(dim=-1))
    agreed.append((meant.argmax(dim=-1) == said.argmax(dim=-1)).float())
print(
    json.dumps(
        {
            "tokens": sum(map(len, rows)),
            "divergence": torch.cat(divergences).mean().item(),
            "agreement": torch.cat(agreed).mean().item(),
            "error": (torch.cat(errors).mean() / torch.cat(spreads).mean()).sqrt().item(),
        }
    )
)
