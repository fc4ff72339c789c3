"""The parts of a launcher over a cluster, put together."""

from __future__ import annotations

import resource

from trainyard.common.bus.port import Bus
from trainyard.common.clock import Clock
from trainyard.common.contract.inventory import BUCKET
from trainyard.common.errors import TrainyardError
from trainyard.common.logs.reader import LogStore
from trainyard.common.sources.store import Sources
from trainyard.launcher.adapters.kubernetes import discovery, kinds
from trainyard.launcher.adapters.kubernetes.api import Api
from trainyard.launcher.adapters.kubernetes.backend import KubernetesBackend
from trainyard.launcher.adapters.kubernetes.cache import ClusterCache
from trainyard.launcher.adapters.kubernetes.images import ContainerImages
from trainyard.launcher.adapters.kubernetes.logs import PodLogs
from trainyard.launcher.adapters.kubernetes.members import Members
from trainyard.launcher.adapters.kubernetes.nodes import ClusterNodes
from trainyard.launcher.adapters.kubernetes.notices import Notices
from trainyard.launcher.adapters.kubernetes.operator import Operator
from trainyard.launcher.adapters.kubernetes.packages import Packages
from trainyard.launcher.adapters.kubernetes.sources import SourceMaps
from trainyard.launcher.adapters.kubernetes.sweeping import Sweeper
from trainyard.launcher.adapters.kubernetes.throttle import Throttle
from trainyard.launcher.adapters.worker_files import worker_files
from trainyard.launcher.avoidance import Avoidance
from trainyard.launcher.core.admission import Admission, Need
from trainyard.launcher.core.cluster.pods import Pod
from trainyard.launcher.core.manifests import Cluster
from trainyard.launcher.core.manifests.worker import package
from trainyard.launcher.parts import Parts, Progress
from trainyard.launcher.settings import Settings

EVERYTHING = Need(float("inf"), 2**62, ranks=2**31)
"""A cluster has queues of its own: here everybody is admitted at once."""
BURST = 100
FILES = 65_536  # more is no use to anybody


async def parts(settings: Settings, bus: Bus, clock: Clock, progress: Progress) -> Parts:
    """Raises InvalidInput without a cluster to reach, Unavailable when it does not answer."""
    api = await Api.connect(settings.kubeconfig, Throttle(clock, settings.api_rate, BURST))
    try:
        installed = await discovery.groups(api)
    except TrainyardError:
        await api.close()
        raise
    everywhere: list[str | None] = [*sorted(settings.namespaces)] or [None]
    cache = ClusterCache(api, clock, everywhere, discovery.makers(installed))
    notices = Notices(api, clock, everywhere, discovery.offers(installed))
    cache.told = notices.of
    members = Members(api, clock, settings.namespace, settings.member)

    def ours(pod: Pod) -> bool:
        """Not one that only bears a job's labels, in a namespace where the job is not."""
        return members.owns(pod.job_id) and progress.namespace(pod.job_id) in {None, pod.namespace}

    logs = PodLogs(api, settings.logs, ours, Throttle(clock, settings.api_rate, BURST), _files())
    cache.on_pod = logs.hear
    members.on_change(lambda: logs.reshare(cache.all_pods()))
    nodes = ClusterNodes(api, clock, await bus.keyvalue(BUCKET), lambda: members.first)
    avoidance = Avoidance(bus, clock, settings.bad_nodes, progress.records, nodes.by_name)
    nodes.marks = avoidance.marks
    sweeper = Sweeper(api, cache, logs, clock, members.owns, progress.attempt)
    packed = package(worker_files())
    cluster = Cluster(
        namespace=settings.namespace,
        offers=discovery.offers(installed),
        namespaces=settings.namespaces,
        output_claim=settings.output_claim,
        worker=packed.name,
    )
    sources = SourceMaps(api, await Sources.open(bus), cache, clock, everywhere)
    packages = Packages(api, packed)
    made = Parts(
        KubernetesBackend(api, cache, logs, LogStore(settings.logs), cluster, clock, packages, sources),
        ContainerImages(),
        Admission(EVERYTHING),
        lambda _: Need(0, 0),
        avoidance,
        members,
        work=[
            cache.run,
            notices.run,
            members.run,
            nodes.run,
            lambda: avoidance.judge(lambda: members.first and progress.caught_up()),
            packages.run,
            lambda: sweeper.run(progress.caught_up),
            lambda: sources.run(lambda: members.first),
        ],
        leave=[members.leave],
        close=[logs.close, api.close],
    )
    if kinds.TRAINING_JOB.group_version in installed:
        operator = Operator(api, bus, clock, members.owns, everywhere)
        made.work.append(operator.run)
        made.moved = operator.moved
    return made


def _files() -> int:
    """How many files this process may have open: as many as it is allowed at all, not the 1,024 that it begins with."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(hard, FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return wanted
    return FILES if soft == resource.RLIM_INFINITY else soft
