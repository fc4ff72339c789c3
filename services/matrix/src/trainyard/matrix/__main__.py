from trainyard.common.runtime.run import main
from trainyard.matrix.app import build
from trainyard.matrix.settings import Settings

main("matrix", Settings.from_env, build)
