from trainyard.common.runtime.run import main
from trainyard.launcher.app import build
from trainyard.launcher.settings import Settings

main("launcher", Settings.from_env, build)
