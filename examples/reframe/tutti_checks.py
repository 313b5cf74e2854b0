# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks for ReFrame (4.0 or later): how fast a file system is, and how much a job suffers from its neighbours.

    reframe -c examples/reframe -r --performance-report -S data=/scratch/$USER
    reframe -c examples/reframe -n TuttiBulk -r -S TuttiBulk.num_tasks=64 -S TuttiBulk.block=1g

Put what your system is to reach into `reference`; without it ReFrame only records the numbers.
"""
import json
import os

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.backends import getlauncher


class TuttiCheck(rfm.RunOnlyRegressionTest):
    """What every run of tutti has in common."""

    valid_systems = ['*']
    valid_prog_environs = ['*']
    sourcesdir = None
    executable = 'tutti'
    tags = {'io', 'tutti'}
    #: where the data files go
    data = variable(str, value='.')
    #: the file that tutti writes its result to, in the stage directory
    answer = 'answer.json'
    keep_files = [answer]

    def common_options(self):
        return ['--dir', self.data, '--json', self.answer]

    def read(self):
        """What was measured; the run is over when it is asked for."""
        with open(os.path.join(self.stagedir, self.answer)) as f:
            return json.load(f)


@rfm.simple_test
class TuttiBulk(TuttiCheck):
    """Bandwidth: every rank writes a file and reads it back, by several libraries."""

    descr = 'bandwidth of writing and reading'
    backend = parameter(['posix', 'mpiio'])
    block = variable(str, value='64m')
    num_tasks = 2
    reference = {
        '*': {
            'write_rate': (0, None, None, 'MB/s'),
            'read_rate': (0, None, None, 'MB/s'),
        },
    }

    # The launcher of the partition starts the ranks; tutti finds that it has been launched.
    @run_before('run')
    def set_options(self):
        self.executable_opts = ['run', 'bulk', '--backend', self.backend, '--files', 'process',
                                '--block', self.block, *self.common_options()]

    @sanity_function
    def is_valid(self):
        return sn.assert_eq((self.read()['status'], self.read()['valid']), ('done', True))

    def rate(self, name):
        return self.read()['metrics'][name]['value'] / 1e6

    @performance_function('MB/s')
    def write_rate(self):
        return self.rate('write_rate')

    @performance_function('MB/s')
    def read_rate(self):
        return self.rate('read_rate')


@rfm.simple_test
class TuttiSlowdown(TuttiCheck):
    """How much slower a job becomes with three others of its kind beside it."""

    descr = 'slowdown by neighbours'
    others = 3
    repeat = variable(int, value=6)
    #: a scenario, or the absolute path of a file
    ensemble = variable(str, value='balanced')
    time_limit = '30m'
    reference = {'*': {'slowdown': (1.0, None, None, '1')}}

    @run_before('run')
    def set_options(self):
        self.executable_opts = ['ensemble', self.ensemble, '--others', f'0,{self.others}',
                                '--repeat', str(self.repeat), '--quiet', *self.common_options()]

    # An ensemble starts its jobs itself, as job steps of the allocation.
    @run_before('run')
    def start_once(self):
        self.job.launcher = getlauncher('local')()

    @sanity_function
    def is_complete(self):
        return sn.assert_eq([step['rounds'] for step in self.read()['steps']], [self.repeat] * 2)

    @performance_function('1')
    def slowdown(self):
        return self.read()['steps'][-1]['slowdown']['value']
