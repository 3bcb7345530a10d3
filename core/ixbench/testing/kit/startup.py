"""Lines that engines write when all is well: no failure signature may match one of them."""

from __future__ import annotations

PLAIN_START = """\
INFO:     Started server process [4711]
INFO:     Waiting for application startup.
INFO:     Application startup complete.
INFO:     Uvicorn running on http://127.0.0.1:8000 (Press CTRL+C to quit)
INFO:     127.0.0.1:51324 - "GET /health HTTP/1.1" 503 Service Unavailable
INFO:     127.0.0.1:51326 - "GET /health HTTP/1.1" 200 OK
INFO:     127.0.0.1:51326 - "POST /v1/chat/completions HTTP/1.1" 200 OK
Loading safetensors checkpoint shards:   0% Completed | 0/96 [00:00<?, ?it/s]
Loading safetensors checkpoint shards: 100% Completed | 96/96 [02:41<00:00,  1.68s/it]
INFO 11-30 06:45:01 [__init__.py:241] Automatically detected platform rocm.
WARNING 11-30 06:45:02 [_custom_ops.py:20] Failed to import from vllm._C with ModuleNotFoundError("No module named 'vllm._C'")
INFO 11-30 06:45:04 [model.py:1547] Using max model len 131072
INFO 11-30 06:45:09 [parallel_state.py:1208] rank 0 in world size 8 is assigned as DP rank 0, PP rank 0, TP rank 0, EP rank 0
INFO 11-30 06:47:52 [default_loader.py:267] Loading weights took 161.40 seconds
INFO 11-30 06:47:53 [gpu_model_runner.py:2392] Model loading took 71.2 GiB and 163.1 seconds
INFO 11-30 06:48:20 [gpu_worker.py:298] Available KV cache memory: 182.51 GiB
INFO 11-30 06:48:21 [kv_cache_utils.py:864] GPU KV cache size: 2,391,552 tokens
INFO 11-30 06:48:21 [kv_cache_utils.py:868] Maximum concurrency for 131,072 tokens per request: 18.25x
Downloading (incomplete total...): 100%|##########| 16.1G/16.1G [00:41<00:00, 391MB/s]
[aiter] import [module_aiter_enum] under /app/aiter/jit/module_aiter_enum.so
[aiter] WARNING: NUMA balancing is enabled, which may cause errors. It is recommended to disable NUMA balancing
NCCL version 2.26.6+hip7.0
[Gloo] Rank 0 is connected to 7 peer ranks. Expected number of connected peer ranks is : 7
llama_model_loader: loaded meta data with 25 key-value pairs and 291 tensors from model.gguf (version GGUF V3 (latest))
llama_context: n_ctx         = 4096
srv    load_model: initializing slots, n_slots = 4
main: server is listening on http://127.0.0.1:8080 - starting the main loop
Setting `pad_token_id` to `eos_token_id`: 2 for open-end generation.
model weights loaded, warming up
ready
"""
"""What uvicorn, vLLM, ATOM's libraries and llama.cpp say on their way up."""
