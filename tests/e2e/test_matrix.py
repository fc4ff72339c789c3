"""The matrix as people meet it: the command, the gateway, the page; and a job that asks for what is not there."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from playwright.async_api import async_playwright

from trainyard.client.sdk import Yard
from trainyard.common.testing.yard import YardProcess

pytestmark = pytest.mark.e2e
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
JOB = """\
name: wish
framework: {{name: pytorch, features: [{features}]}}
command: 'true'
resources: {{accelerators: {accelerators}}}
"""


def write(folder: Path, accelerators: str, features: str = "") -> str:
    (folder / "job.yaml").write_text(JOB.format(accelerators=accelerators, features=features))
    return str(folder)


def test_an_explanation_of_what_fits(yard: YardProcess, tmp_path: Path) -> None:
    done = yard.yard("matrix", "explain", "--anywhere", write(tmp_path, "1(A100)"))
    assert done.returncode == 0, done.stderr
    assert "fits: pytorch-cu130-flash" in done.stdout
    assert "with flash-attention" in done.stdout
    assert "nvidia.com/gpu: 1" in done.stdout


def test_an_explanation_names_what_each_role_gets(yard: YardProcess, tmp_path: Path) -> None:
    roles = "roles:\n  master: {resources: {accelerators: 1(A100)}}\n  worker: {resources: {accelerators: 2(T4)}}\n"
    (tmp_path / "job.yaml").write_text(f"name: wish\nframework: pytorch\ncommand: 'true'\n{roles}")
    done = yard.yard("matrix", "explain", "--anywhere", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "role master: best of what is left" in done.stdout
    lines = [line.strip("│├└─ ") for line in done.stdout.partition("fits:")[2].splitlines()]
    chosen = [line for line in lines if line.startswith(("role ", "product", "resources"))]
    assert chosen == [
        "role master",
        "product  a100-40g",
        "resources  nvidia.com/gpu: 1",
        "role worker",
        "product  t4",
        "resources  nvidia.com/gpu: 2",
    ]


def test_an_explanation_of_what_does_not(yard: YardProcess, tmp_path: Path) -> None:
    done = yard.yard("matrix", "explain", "--anywhere", write(tmp_path, "1(V100)", "flash-attention"))
    assert done.returncode == 4
    assert "v100 has compute capability 7.0" in done.stdout
    assert "write  framework: {name: pytorch, features: [sdpa]}" in done.stdout
    told = json.loads(yard.yard("matrix", "explain", "--anywhere", str(tmp_path), "--json").stdout)
    assert told["nearest"][0] == 'resources: {accelerators: "1(a10, a100, h100)"}'


def test_what_is_written_instead_fits(yard: YardProcess, tmp_path: Path) -> None:
    """The refusal's own words, pasted into the job file."""
    assert (
        yard.yard(
            "matrix", "explain", "--anywhere", write(tmp_path, '"1(a10, a100, h100)"', "flash-attention")
        ).returncode
        == 0
    )
    assert yard.yard("matrix", "explain", "--anywhere", write(tmp_path, "1(V100)", "sdpa")).returncode == 0


def test_this_machine_is_in_the_inventory(yard: YardProcess, tmp_path: Path) -> None:
    nodes = json.loads(yard.yard("nodes", "--json").stdout)["nodes"]
    assert [(node["backend"], node["cpu"] > 0, node["memory"] > 0) for node in nodes] == [("local", True, True)]
    assert nodes[0]["name"] in yard.yard("nodes").stdout
    done = yard.yard("matrix", "explain", write(tmp_path, '"1(npu,910B)"'))
    assert done.returncode == 4
    assert "no node here has 910b" in done.stdout
    assert "--anywhere" in done.stdout


def test_facts_and_their_faults(yard: YardProcess) -> None:
    done = yard.yard("matrix", "lint")
    assert done.returncode == 0, done.stdout
    assert ", 0 faults, " in done.stdout
    assert "gap" in yard.yard("matrix", "lint", "--gaps", "--framework", "pytorch").stdout
    assert "releases" in yard.yard("matrix", "show").stdout
    rows = json.loads(yard.yard("matrix", "show", "builds", "--framework", "jax", "--json").stdout)["builds"]
    assert {row["framework"] for row in rows} == {"jax"}
    wrong = yard.yard("matrix", "show", "hardwear")
    assert (wrong.returncode, "did you mean 'hardware'?" in wrong.stderr) == (4, True)


def test_a_job_that_fits_nowhere_is_rejected_with_the_same_words(gateway: Yard, tmp_path: Path) -> None:
    document = {
        "name": "wish",
        "framework": {"name": "pytorch", "features": ["flash-attention"]},
        "command": "true",
        "resources": {"accelerators": "1(V100)"},
    }
    job = gateway.wait(gateway.submit(document).job_id, 30)
    assert job.state == "rejected"
    assert gateway.explain(document).message in str(job.message)


async def test_the_page(yard: YardProcess) -> None:
    if CHROMIUM is None:
        pytest.skip("no Chromium here: apt install chromium")
    faults: list[str] = []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = await browser.new_page(viewport={"width": 360, "height": 740})
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: faults.append(str(error)))
        await page.goto(f"http://127.0.0.1:{yard.port('monitor')}/matrix")
        await page.locator("#grid button.yes").first.wait_for(timeout=30_000)
        assert await page.locator("#grid th").all_inner_texts() == ["release", "python", "cuda", "cann", "rocm"]
        row = page.locator("#grid tbody tr", has=page.locator("td:first-child", has_text="2.9.1"))
        assert await row.locator("td").nth(2).locator("button").all_inner_texts() == ["12.6", "12.8", "13.0"]
        await row.get_by_role("button", name="12.8").click()
        detail = await page.locator("#detail").inner_text()
        assert "kernels on x86_64: 7.0, 7.5, 8.0, 8.6, 9.0, 10.0, 12.0" in detail
        await page.select_option("#framework", "mindspore")
        oldest = page.locator("#grid tbody tr").last
        assert await oldest.locator("td").first.inner_text() == "2.2.0"
        assert await oldest.get_by_role("button", name="7.0.RC1").count() == 1
        assert await page.locator("#hardware tbody tr").count() > 40
        assert await page.locator("#gaps tbody tr").count() > 40
        assert await page.evaluate("document.documentElement.scrollWidth") <= 360
        await browser.close()
    assert faults == []
