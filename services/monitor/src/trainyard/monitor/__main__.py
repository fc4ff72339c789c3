from trainyard.common.runtime.run import main
from trainyard.monitor.app import build
from trainyard.monitor.settings import Settings

main("monitor", Settings.from_env, build)
