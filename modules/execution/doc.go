// Package execution is the executor: it claims runs from a control plane, executes them with the tools of this process
// and reports their output and results. It runs in the server next to the database or, over a relay, on a machine
// without one; it uses only the control plane. A server also has the other side of that relay, and the fleet, which
// lists the executors.
//
// A run's process gets a private directory, which is its HOME, TMPDIR and working directory, and an environment of
// five parts, where later ones win: the fixed allow-list of the server's environment (PATH, LANG, LC_ALL, TZ, proxies
// and certificate stores), the private directories, the run's own env, that of its credentials, and Writ's variables:
// WRIT_RUN_ID, WRIT_VARS and WRIT_OUTPUTS (paths), WRIT_DRY_RUN (1 in a dry run, else absent) and WRIT_VAR_<NAME> for
// each scalar variable that fits.
//
// The secrets of credentials are fetched when the run is claimed, stored in files of that directory or in the memory
// of an ssh agent (SSH_AUTH_SOCK), and never passed on a command line. Playbooks get their passwords by files that are
// removed after they are read; scripts find them by WRIT_SSH_PASSWORD_FILE, WRIT_BECOME_PASSWORD_FILE and
// WRIT_VAULT_PASSWORD_FILE. Variables of credentials override those of the run and are data: nothing in them is
// evaluated. All secrets are removed when the tool has ended, and secrets that were made for the run alone are revoked
// then.
//
// The run's own timeout overrides the executor's, also if it is longer; a run without one gets the executor's, and
// zero means no limit there.
package execution
