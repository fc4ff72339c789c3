"""`yard`, and `python -m trainyard.client`."""

from __future__ import annotations

from trainyard.client.cli.root import run


def main() -> None:
    run()


if __name__ == "__main__":
    main()
