#!/usr/bin/env python3
"""troupe generate: texts from checkpoints and adapters on the CPU, compared with Transformers and PEFT.

    tests/end_to_end/generate_test.py PATH_TO_TROUPE
"""
import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = Path(sys.argv.pop(1)).resolve()
FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
TASKS = FIXTURES / "llama-tasks"


def generate(*arguments, code=0):
    done = subprocess.run([PROGRAM, "generate", *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, f"{arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout if code == 0 else done.stderr


class Generate(unittest.TestCase):
    def test_a_task_of_every_adapter_is_done_as_by_transformers(self):
        one_of_each = {g["adapter"]: g for g in json.loads((TASKS / "golden.json").read_text())}
        self.assertEqual(len(one_of_each), 5)
        for adapter, golden in one_of_each.items():
            with self.subTest(adapter=adapter):
                chosen = ["--adapter", TASKS / "adapters" / adapter] if adapter else []
                document = json.loads(generate("--model", TASKS / "base", *chosen, "--prompt", golden["prompt"],
                                               "--max-tokens", 40, "--logits-at", -1, "--json"))
                self.assertEqual(document["prompt_ids"], golden["prompt_ids"])
                self.assertEqual(document["ids"], golden["output_ids"])
                self.assertEqual(document["text"], golden["text"])
                self.assertEqual(document["finish_reason"], "stop")
                for ours, theirs in zip(document["logits"][0], golden["first_logits"], strict=True):
                    self.assertAlmostEqual(ours, theirs, delta=2e-3)

    def test_ids_in_and_out_without_a_tokenizer(self):
        folder = FIXTURES / "random-llms" / "qwen2-bias"
        golden = json.loads((folder / "golden.json").read_text())
        document = json.loads(generate("--model", folder, "--ids", ",".join(map(str, golden["ids"])), "--max-tokens",
                                       len(golden["greedy"]), "--logits-at", f"{golden['mid_index']},-1", "--json"))
        self.assertEqual(document["ids"], golden["greedy"])
        self.assertEqual(document["finish_reason"], "length")
        self.assertEqual(document["text"], "")
        for ours, theirs in zip(document["logits"], (golden["mid_logits"], golden["last_logits"]), strict=True):
            for a, b in zip(ours, theirs, strict=True):
                self.assertAlmostEqual(a, b, delta=1e-3)

    def test_a_temperature_draws_by_the_seed(self):
        def drawn(seed):
            return generate("--model", FIXTURES / "random-llms" / "llama2-mha", "--ids", "1,5,9", "--max-tokens", 20,
                            "--temperature", 1.5, "--top-p", 0.9, "--seed", seed, "--ignore-eos")

        self.assertEqual(drawn(1), drawn(1))
        self.assertNotEqual(drawn(1), drawn(2))

    def test_the_text_is_printed(self):
        self.assertEqual(generate("--model", TASKS / "base", "--adapter", TASKS / "adapters" / "upper", "--prompt", "ecl=",
                                  "--max-tokens", 40), "ECL\n")

    def test_what_cannot_be_used_is_refused_in_one_line(self):
        with tempfile.TemporaryDirectory() as folder:
            broken = Path(folder, "broken")
            shutil.copytree(TASKS / "base", broken)
            weights = broken / "model.safetensors"
            weights.write_bytes(weights.read_bytes()[:1000])
            for arguments, says in [
                (["--model", folder, "--ids", "1"], "config.json"),
                (["--model", broken, "--ids", "1"], "model.safetensors"),
                (["--model", TASKS / "base", "--adapter", folder, "--ids", "1"], "adapter_config.json"),
                (["--model", TASKS / "base", "--ids", "1,354"], "token 1 of the prompt is 354"),
                (["--model", TASKS / "base", "--ids", "1", "--max-tokens", 513], "512 positions"),
                (["--model", TASKS / "base", "--ids", "-1"], "--ids: must be a whole number"),
                (["--model", FIXTURES / "random-llms" / "llama2-mha", "--ids", "1", "--adapter", TASKS], "adapter_config.json"),
                (["--model", TASKS / "base", "--ids", "1,2", "--json", "--logits-at", 2], "--logits-at 2"),
                (["--model", TASKS / "base", "--ids", "1,2", "--logits-at", 1], "--json"),
                (["--model", TASKS / "base", "--ids", "1", "--dtype", "int4"], "f32, bf16 or f16"),
                (["--model", TASKS / "base", "--ids", "1", "--device", "cuda"], "--device cuda"),
                (["--model", FIXTURES / "random-llms" / "llama2-mha", "--prompt", "a"], "--ids instead of --prompt"),
                (["--model", TASKS / "base"], "--prompt or --ids"),
            ]:
                with self.subTest(says):
                    message = generate(*arguments, code=2)
                    self.assertIn(says, message)
                    self.assertLess(len(message.splitlines()), 4)


if __name__ == "__main__":
    unittest.main()
