from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logparse.redact import redact

SECRETS = [
    ("--api-key s3cretvalue --port 8000", "s3cretvalue"),
    ("['--api-key', 's3cretvalue', '--port']", "s3cretvalue"),
    ("'api_key': ['s3cretvalue', 'other']", "s3cretvalue"),
    ("api_key='s3cretvalue'", "s3cretvalue"),
    (r"{\"api_key\": \"s3cretvalue\"}", "s3cretvalue"),
    ("Authorization: Bearer s3cretvalue", "s3cretvalue"),
    ("HF_TOKEN=s3cretvalue", "s3cretvalue"),
    ("AWS_SECRET_ACCESS_KEY: s3cretvalue", "s3cretvalue"),
    ("token='s3cretvalue'", "s3cretvalue"),
    ("hf_token: s3cretvalue", "s3cretvalue"),
    ("hf_abcdefghijklmnopqrstuvwxyz", "abcdefghijk"),
    ("sk-proj-abcdefghijklmnop", "abcdefghijk"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJl", "eyJzdWIi"),
    ("https://bucket.example/x?X-Amz-Signature=s3cretvalue&a=1", "s3cretvalue"),
    ("postgres://ada:s3cretvalue@db/x", "s3cretvalue"),
    ("/home/ada/models/x", "ada"),
    ("/Users/ada/models/x", "ada"),
    (r"C:\Users\ada\models", "ada"),
    ("mail ada.lovelace@example.co.uk now", "lovelace"),
    ("listening on 192.0.2.17:8000", "192.0.2.17"),
    ("addr=192.0.2.17, x", "192.0.2.17"),
    ("peer 2001:db8:0:0:0:0:2:1 and fe80::1ff:fe23:4567:890a", "db8"),
    ("GPU-12345678-1234-1234-1234-123456789abc", "12345678"),
]
KEPT = [
    "Decode batch. #running-req: 1, #token: 1234, token usage: 0.01, #queue-req: 0",
    "Prefill batch. #new-seq: 1, #new-token: 512, #cached-token: 0, token usage: 0.00",
    "max_total_num_tokens=442913, max_prefill_tokens=16384",
    "GPU KV cache size: 273,563 tokens",
    "2026-11-20 10:11:12,123 12:13:14 INFO 07-22 10:11:12 [core.py:77] ready",
    "api_key=None, hf_token=None, 'api_key': [], ssl_keyfile_password=None",
    "eos_token='</s>', pad_token_id=0, skip_tokenizer_init=False, tokenizer_mode=auto",
    "host='0.0.0.0', port=8000 http://127.0.0.1:8123",
    "nvidia-cudnn-cu12==9.1.0.70, cudnn 9.1.0.70, version 9.1.0.70",
    "c10::Error std::vector at::cuda 0x7f05a0168b28",
    "Replace gpu_memory_utilization config with `--kv-cache-memory=57738833920` (53.77 GiB)",
    "model='meta-llama/Llama-3.1-8B', tokenizer='Qwen/Qwen3-8B'",
]


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_secrets_go(text: str, secret: str) -> None:
    redacted = redact(text)
    assert secret not in redacted
    assert "<" in redacted
    assert redact(redacted) == redacted


@pytest.mark.parametrize("text", KEPT)
def test_ordinary_words_stay(text: str) -> None:
    assert redact(text) == text


parts = st.one_of(
    st.sampled_from([text for text, _ in SECRETS] + KEPT),
    st.text(max_size=20),
    st.sampled_from(["api_key=", "token: ", "Bearer ", "<secret>", "'", '"', "[", "--api-key ", "@", "://", "/home/"]),
)


@given(st.lists(parts, max_size=8).map("".join))
def test_redacting_twice_changes_nothing(text: str) -> None:
    once = redact(text)
    assert redact(once) == once
