from trainyard.common.runtime.run import main
from trainyard.job_api.app import build
from trainyard.job_api.settings import Settings

main("job-api", Settings.from_env, build)
