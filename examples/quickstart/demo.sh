#!/usr/bin/env bash
# Compiles, trains and quantizes a small model, and asks it three questions. When it is started again,
# finished stages are skipped. Needs `ftc` and what bundles need on PATH.
set -euo pipefail
CDPATH="" cd -- "$(dirname -- "${BASH_SOURCE[0]}")"

if [[ ! -f model/config.json ]]; then
  echo "[1/4] building the small untrained model, a few seconds"
  python make_model.py
fi
echo "[2/4] ftc compile examples/quickstart/spec.json"
ftc compile spec.json --update
echo "[3/4] support-triage/run.sh: prepare, train, merge, evaluate, quantize; 2 to 4 minutes"
support-triage/run.sh
echo "[4/4] support-triage/ask.py"
for question in \
  "Hi, my parcel should have arrived on Monday and the tracking has not moved since." \
  "Hola, no recuerdo la contraseña y el correo para cambiarla no llega." \
  "Bon dia, voldria que m'enviéssiu la factura de la comanda 48213."; do
  echo "> $question"
  python support-triage/ask.py "$question"
done
