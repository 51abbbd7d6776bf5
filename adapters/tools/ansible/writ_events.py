# Structured events of a play for the Writ automation server, as JSON lines on an inherited descriptor.
# Copyright the Writ authors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# This program is free software: you can redistribute it and/or modify it under the terms of the GNU General Public
# License as published by the Free Software Foundation, either version 3 of the License, or (at your option) any later
# version. It is distributed in the hope that it will be useful, but WITHOUT ANY WARRANTY; without even the implied
# warranty of MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE. See <https://www.gnu.org/licenses/>.
from __future__ import annotations

import fcntl
import functools
import gc
import json
import os
import time

from ansible import context
from ansible.plugins.callback import CallbackBase
from ansible.release import __version__
from ansible.utils.display import Display

DOCUMENTATION = '''
    name: writ_events
    type: aggregate
    short_description: structured run events as JSON lines
    description:
      - Writes one JSON object a line to the descriptor that WRIT_EVENTS names, and nothing at all without it.
'''

TEXT = 16384           # characters of one text member
LINE = 1 << 20         # bytes of one line; larger facts are left out
ITEMS = 64             # plain item results of one host and task; changed and failed ones have a bound of their own
NOTABLE_ITEMS = 1024
DIFFS = 64
NOTIFIED = 64          # handlers of one result
GATHER = frozenset(p + n for p in ('', 'ansible.builtin.', 'ansible.legacy.') for n in ('setup', 'gather_facts'))
BUILTIN = ('ansible.builtin.', 'ansible.legacy.')
DEBUG = frozenset(p + 'debug' for p in ('', 'ansible.builtin.', 'ansible.legacy.'))
PLAIN = frozenset(('changed', 'failed', 'skipped', 'unreachable', 'warnings', 'deprecations', 'invocation', 'item',
                   'ansible_loop_var', 'exception', 'failed_when_result', 'failed_when_suppressed_exception', 'attempts',
                   'retries'))


def _plain(value):
    """What JSON has no form for; vaulted values stay closed."""
    if hasattr(value, '_ciphertext'):
        return '[vaulted]'
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    if isinstance(value, bytes):
        return value.decode('utf-8', 'replace')
    try:
        return dict(value)
    except Exception:
        return str(value)


_encode = json.JSONEncoder(default=_plain, separators=(',', ':'), check_circular=False, skipkeys=True).encode


def _parts(result):
    """The task, the host's name and the values of a result. Only its public names stay, and 2.14 lacks them."""
    if hasattr(type(result), 'result'):
        return result.task, result.host.get_name(), result.result
    return result._task, result._host.get_name(), result._result


def _becomes_here(result):
    """Whether the task became another user on this machine."""
    public = hasattr(type(result), 'result')
    task, host = (result.task, result.host) if public else (result._task, result._host)
    values = [host.vars] + [group.vars for group in host.get_groups()]
    if not (task.become or any(v.get('ansible_become') for v in values)):
        return False
    if task.delegate_to:
        return task.delegate_to in ('localhost', '127.0.0.1', '::1')
    return task.connection == 'local' or host.implicit or any(v.get('ansible_connection') == 'local' for v in values)


def _action(task):
    """The module of a task, a builtin one by its short name, so that both of its names are one."""
    for prefix in BUILTIN:
        if task.action.startswith(prefix):
            return task.action[len(prefix):]
    return task.action


def _where(task):
    """The file and line of a task: in the project, else from the folder of its role or collection on."""
    path = task.get_path()
    if not path:
        return None
    root = os.getcwd() + os.sep
    for one in (path, os.path.realpath(path)):
        for top in (root, os.path.realpath(root) + os.sep):
            if one.startswith(top):
                return one[len(top):]
    found = max(path.rfind('/roles/'), path.rfind('/ansible_collections/'))
    return path[found + 1:] if found >= 0 else os.path.basename(path)


def _checks(task):
    """Whether a task only tells what it would change. A template that is not resolved yet counts as the other case."""
    check = bool(context.CLIARGS.get('check'))
    return task.check_mode if isinstance(task.check_mode, bool) else not check


def _resource(task, result):
    """What a result is about: the module and the first of a path or a name, or nothing."""
    args = result.get('invocation')
    args = args.get('module_args') if isinstance(args, dict) else None
    args = args if isinstance(args, dict) else {}
    for value in [args.get(k) for k in ('path', 'dest', 'name')] + [result.get(k) for k in ('dest', 'path')]:
        if isinstance(value, (list, tuple)):
            value = ', '.join(str(v) for v in value)
        if isinstance(value, str) and value:
            return '%s %s' % (_action(task), value)
    return None


def _guarded(method):
    """A callback that raises would only print a warning into the log of the run."""
    @functools.wraps(method)
    def call(self, *args, **kwargs):
        if self.disabled:
            return None
        try:
            return method(self, *args, **kwargs)
        except Exception as e:  # the run matters more than its report
            self.lost(method.__name__, e)
            return None
    return call


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = 'aggregate'
    CALLBACK_NAME = 'writ_events'
    CALLBACK_NEEDS_ENABLED = False

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.began = {}     # (host, task) -> monotonic start
        self.items = {}     # (host, task) -> [plain, notable] item results so far
        self.handlers = []  # of the play, in the order in which Ansible looks for a name
        self.pid = os.getpid()
        where, _, self.nonce = os.environ.pop('WRIT_EVENTS', '').partition(':')
        try:
            self.fd = int(where)
            fcntl.fcntl(self.fd, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
        except (OSError, ValueError):
            self.disabled = True
            return
        gc.freeze()         # what is loaded stays; workers need not copy its pages at each collection
        self.watch_warnings()

    # -- the wire ------------------------------------------------------------
    def emit(self, kind, **record):
        if self.disabled or os.getpid() != self.pid:
            return
        record['ev'], record['n'], record['t'] = kind, self.nonce, time.time()
        data = (_encode(record) + '\n').encode('ascii', 'replace')
        if len(data) > LINE:
            data = self.shrink(record)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(self.fd, view):]
        except OSError:
            self.disabled = True

    def lost(self, where, error):
        try:
            self.emit('lost', text='%s: %s' % (where, str(error)[:500]))
        except Exception:
            self.disabled = True

    @staticmethod
    def shrink(record):
        """Leaves out facts, and the largest members of the largest part until the line fits."""
        record['cut'] = True
        record.pop('facts', None)
        for part in ('custom', 'diff', 'hosts'):
            value = record.get(part)
            while isinstance(value, dict) and value and len(_encode(record)) >= LINE:
                del value[max(value, key=lambda k: len(_encode(value[k])))]
            while isinstance(value, list) and value and len(_encode(record)) >= LINE:
                value.pop()
        return (_encode(record) + '\n').encode('ascii', 'replace')

    def watch_warnings(self):
        display = Display()
        self.watch(display, 'warning', '_warns', '[WARNING]: ', '')
        self.watch(display, 'deprecated', '_deprecations', '[DEPRECATION WARNING]: ', 'Deprecated: ')

    def watch(self, display, name, store, mark, prefix):
        """Reports the messages of one kind: those given before this plugin was loaded, and each new one."""
        if hasattr(display, '_' + name):
            name = '_' + name   # messages of modules and workers reach only this one, from 2.19 on
        seen, original = getattr(display, store, ()), getattr(display, name)
        for text in seen if isinstance(seen, dict) else sorted(seen):
            text = ' '.join(str(text).split())
            self.emit('warning', text=(prefix + (text.partition(mark)[2] or text))[:TEXT])

        def call(*args, **kwargs):
            known = len(seen)
            result = original(*args, **kwargs)
            if len(seen) != known:
                message = args[0] if args else kwargs.get('msg', '')
                text = getattr(getattr(message, 'event', None), 'msg', message)
                self.emit('warning', text=(prefix + str(text))[:TEXT])
            return result
        setattr(display, name, call)

    def text(self, record, key, value):
        if value is None or value == '':
            return
        if not isinstance(value, str):
            value = _encode(value)
        if len(value) > TEXT:
            value, record['cut'] = value[:TEXT], True
        record[key] = value

    # -- plays and tasks -----------------------------------------------------
    @_guarded
    def v2_playbook_on_start(self, playbook):
        self.emit('start', version=__version__)

    @_guarded
    def v2_playbook_on_play_start(self, play):
        self.handlers = [handler for block in reversed(play.handlers) for handler in block.block]
        record = {'play': play.get_name().strip(), 'pattern': _encode(play.hosts)}
        try:
            inventory = play.get_variable_manager()._inventory
            record['matched'] = len(inventory.get_hosts(play.hosts))
            record['inventory'] = len(inventory.hosts)
        except Exception:
            pass            # the numbers only sharpen warnings
        self.emit('play', **record)

    def start_task(self, task, handler=False):
        self.items.clear()
        record = {'task': task._uuid, 'name': task.get_name().strip()}
        self.text(record, 'action', _action(task))
        self.text(record, 'path', _where(task))
        if task._role:
            self.text(record, 'role', task._role.get_name())
        self.emit('task', handler=handler, check=_checks(task), **record)

    @_guarded
    def v2_playbook_on_task_start(self, task, is_conditional):
        self.start_task(task)

    @_guarded
    def v2_playbook_on_handler_task_start(self, task):
        self.start_task(task, handler=True)

    @_guarded
    def v2_playbook_on_cleanup_task_start(self, task):
        self.start_task(task)

    @_guarded
    def v2_runner_on_start(self, host, task):
        self.began[(host.name, task._uuid)] = time.monotonic()

    # -- results -------------------------------------------------------------
    def diff(self, result):
        found = result.get('diff')
        out = []
        for one in (found if isinstance(found, list) else [found])[:DIFFS]:
            if not isinstance(one, dict) or not any(one.get(k) for k in ('before', 'after', 'prepared')):
                continue
            clean = {}
            for key in ('before', 'after', 'prepared', 'before_header', 'after_header'):
                if key in one:
                    self.text(clean, key, one[key])
            # The source of a template or copy is a file of this controller, often a temporary one.
            if os.path.isabs(clean.get('after_header', '')):
                clean['after_header'] = clean.get('before_header', os.path.basename(clean['after_header']))
            out.append(clean)
        return out

    def notified(self, record, topics):
        """The handlers that a result notifies. From 2.19 on, Ansible itself tells them only when they are due."""
        names = []
        for topic in topics:
            named = [h for h in self.handlers if h.name and topic in (h.name, h.get_name(), h.get_name(False))]
            listening = [h for h in self.handlers if topic in (h.listen or ())]
            names += [h.get_name().strip()[:TEXT] for h in named[:1] + listening]
        if names:
            record['notified'] = list(dict.fromkeys(names))[:NOTIFIED]

    def fill(self, record, task, result):
        if result.get('changed'):
            record['changed'] = True
        if 'censored' in result or result.get('_ansible_no_log'):
            self.text(record, 'msg', result.get('censored'))
            return record
        message = result.get('msg')
        if not message:
            message = result.get('skipped_reason') or result.get('skip_reason')
        if not message and task.action in DEBUG:
            message = {k: v for k, v in result.items() if k not in PLAIN and not k.startswith('_ansible')} or None
        self.text(record, 'msg', message)
        self.text(record, 'out', result.get('stdout'))
        self.text(record, 'err', result.get('stderr') or result.get('module_stderr'))
        if isinstance(result.get('rc'), int):
            record['rc'] = result['rc']
        if result.get('changed') and context.CLIARGS.get('check'):
            self.text(record, 'resource', _resource(task, result))
        diff = self.diff(result)
        if diff:
            record['diff'] = diff
            if any(d.pop('cut', False) for d in diff):
                record['cut'] = True
        return record

    def report(self, status, result, ignored=False):
        task, host, values = _parts(result)
        record = {'status': status, 'host': host, 'task': task._uuid, 'name': task.get_name().strip()}
        began = self.began.pop((host, task._uuid), None)
        if began is not None:
            record['ms'] = int((time.monotonic() - began) * 1000)
        if ignored:
            record['ignored'] = True
        if status in ('failed', 'unreachable') and _becomes_here(result):
            record['became'] = True
        if status == 'ok' and values.get('changed'):
            self.notified(record, values.get('_ansible_notify') or task.notify or ())
        self.emit('result', **self.fill(record, task, values))
        facts = values.get('ansible_facts')
        if facts and status == 'ok' and task.action in GATHER and not values.get('_ansible_no_log'):
            self.emit('facts', host=host, task=task._uuid, name=record['name'], facts=dict(facts))

    @_guarded
    def v2_runner_on_ok(self, result):
        self.report('ok', result)

    @_guarded
    def v2_runner_on_failed(self, result, ignore_errors=False):
        self.report('failed', result, ignore_errors)

    @_guarded
    def v2_runner_on_skipped(self, result):
        self.report('skipped', result)

    @_guarded
    def v2_runner_on_unreachable(self, result):
        self.report('unreachable', result, bool(_parts(result)[0].ignore_unreachable))

    def item(self, status, result):
        task, host, res = _parts(result)
        count = self.items.setdefault((host, task._uuid), [0, 0])
        notable = int(status == 'failed' or bool(res.get('changed')))
        count[notable] += 1
        if count[notable] > (ITEMS, NOTABLE_ITEMS)[notable]:
            return
        record = {'status': status, 'host': host, 'task': task._uuid, 'name': task.get_name().strip()}
        self.text(record, 'item', self._get_item_label(res))
        self.emit('item', **self.fill(record, task, res))

    @_guarded
    def v2_runner_item_on_ok(self, result):
        self.item('ok', result)

    @_guarded
    def v2_runner_item_on_failed(self, result):
        self.item('failed', result)

    @_guarded
    def v2_runner_item_on_skipped(self, result):
        self.item('skipped', result)

    @_guarded
    def v2_runner_retry(self, result):
        task, host, res = _parts(result)
        record = {'host': host, 'task': task._uuid, 'name': task.get_name().strip(),
                  'attempt': res.get('attempts'), 'of': res.get('retries')}
        self.emit('retry', **self.fill(record, task, res))

    # -- the end -------------------------------------------------------------
    @_guarded
    def v2_playbook_on_stats(self, stats):
        custom = getattr(stats, 'custom', None)
        if custom:
            self.emit('outputs', custom={k: dict(v) for k, v in custom.items()})
        self.emit('stats', hosts={h: stats.summarize(h) for h in stats.processed})
