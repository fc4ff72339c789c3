"""The panel in a real browser: it shows what runs, live, and nothing from elsewhere is loaded."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Page, async_playwright

from trainyard.client.sdk import Yard
from trainyard.common.testing.yard import YardProcess

pytestmark = pytest.mark.e2e
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    *("--no-sandbox", "--headless", "--disable-gpu", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]


@pytest_asyncio.fixture
async def page() -> AsyncIterator[Page]:
    if CHROMIUM is None:
        pytest.skip("no Chromium here: apt install chromium")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield await browser.new_page()
        await browser.close()


async def test_a_job_is_seen_while_it_runs_and_after(page: Page, yard: YardProcess, gateway: Yard) -> None:
    faults: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    origin = f"http://127.0.0.1:{yard.port('monitor')}"
    await page.goto(origin)
    line = '{"time": 1, "epoch": %d, "epochs": 4, "metrics": {"loss": 0.%d}}\\n'
    script = f"for i in 1 2; do printf '{line}' $i $i >> $TRAINYARD_REPORT; sleep 1.3; done; sleep 2"
    command = ["sh", "-c", script]
    job = gateway.submit({"name": "seen", "framework": "generic", "command": command})
    card = page.locator(f"#job-{job.job_id}")
    await card.locator(".state.running").wait_for(timeout=30_000)
    await card.locator(".words", has_text="epoch 2/4").wait_for(timeout=30_000)
    bar = card.locator(".bar")
    assert await bar.get_attribute("aria-valuenow") == "50"
    filled = await bar.locator("div").evaluate(
        "node => node.getBoundingClientRect().width / node.parentNode.clientWidth"
    )
    assert 0.4 < filled < 0.6
    assert await card.locator("svg path").count() == 1
    await card.locator(".state.succeeded").wait_for(timeout=30_000)
    assert await page.locator("#devices .card").count() == 1
    assert faults == []
    assert all(url.startswith((origin, "data:")) for url in asked)


async def test_restarts_are_seen_with_their_budget_and_what_decided(
    page: Page, yard: YardProcess, gateway: Yard
) -> None:
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    await page.goto(f"http://127.0.0.1:{yard.port('monitor')}")
    command = ["sh", "-c", "[ $TRAINYARD_ATTEMPT = 2 ] || exit 75; sleep 3"]
    rules = {"exit_codes": [{"codes": [75], "counts_as": "preemption"}]}
    job = gateway.submit({"name": "again", "framework": "generic", "command": command, "retries": rules})
    said = page.locator(f"#job-{job.job_id} .words")
    await said.filter(has_text="restarts: 1 preemption").wait_for(timeout=30_000)
    await said.filter(has_text="exit code 75 counts as preemption (retries.exit_codes)").wait_for(timeout=30_000)
    await page.locator(f"#job-{job.job_id} .state.succeeded").wait_for(timeout=30_000)
    assert "attempt 1 ended: rank 0 exited with code 75" in (await said.text_content() or "")
    assert faults == []


async def test_it_fits_a_phone(page: Page, yard: YardProcess) -> None:
    await page.set_viewport_size({"width": 360, "height": 740})
    await page.goto(f"http://127.0.0.1:{yard.port('monitor')}")
    await page.locator("#devices .card").first.wait_for(timeout=30_000)
    assert await page.evaluate("document.documentElement.scrollWidth") <= 360
