from trainyard.common.runtime.run import main
from trainyard.converter.app import build
from trainyard.converter.settings import Settings

main("converter", Settings.from_env, build)
