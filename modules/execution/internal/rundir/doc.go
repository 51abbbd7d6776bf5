// Package rundir lays out the private directory of a run: the files for the tool, the data that
// waits for the control plane, and the state that a restarted executor reads.
//
// A directory is named by run and epoch, so that two claims of one run never share anything:
//
//	<run>.<epoch>/        0711
//	  state.jsonl         its worker; that it began; how it ended, from the tool's exit until that is stored
//	  files/              0755, what the run sees
//	    vars.json         0600, the file named by WRIT_VARS
//	    out/outputs.json  written by the run, the file named by WRIT_OUTPUTS
//	    work/             the tool's own: its working directory, HOME and TMPDIR
//	    tmp/              /tmp, in a boundary with mounts
//	    secrets/          0700, files of credentials, 0600 each
//	    login/            0755, files with one password each, 0600, which a playbook's tool removes after reading
//	    agent/            0755, the socket of the run's ssh agent and the public halves of its keys
//
// If the run has an account of its own, that owns what is in files, but for the directories that others may enter:
// there the executor itself removes files while the run executes, and the run could lead it elsewhere. If it has none,
// all directories are 0700.
//
// As soon as the tool of a run with credentials has ended, only the state remains here.
//
// Data beyond the memory limits is in the same directory or on another file system:
//
//	<run>.<epoch>.log     output that is not stored yet
//	<run>.<epoch>.events  events that are not stored yet
package rundir
