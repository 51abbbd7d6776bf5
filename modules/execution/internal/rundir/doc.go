// Package rundir lays out the private directory of a run: what the tool finds there, what is kept there until the
// control plane has it, and what an executor that starts again reads from it.
//
// A directory is named by run and epoch, so that two claims of one run never share anything:
//
//	<run>.<epoch>/        0700
//	  state.jsonl         whose it is; that it began; how it ended, from the tool's exit until that is stored
//	  vars.json           0600, the file named by WRIT_VARS
//	  outputs.json        written by the run, the file named by WRIT_OUTPUTS
//	  work/               the tool's own: its working directory, HOME and TMPDIR
//	  secrets/            0700, files of credentials, 0600 each
//	  login/              0700, files with one password each, 0600, which a playbook's tool removes once they are read
//	  agent/              0700, the socket of the run's ssh agent and the public halves of its keys
//
// A run that has credentials leaves nothing here but the state as soon as its tool has ended.
//
// and, made only where memory does not hold it, beside them or on another file system:
//
//	<run>.<epoch>.log     output that is not stored yet
//	<run>.<epoch>.events  events that are not stored yet
package rundir
