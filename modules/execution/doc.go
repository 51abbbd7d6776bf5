// Package execution is the executor: it claims runs from a control plane, executes them with the tools of this
// process and reports what they said and how they ended. It runs beside the server's database or, over a relay, on a
// machine without one; the control plane is all that it knows of either. A server also has the other side of that
// relay, and the fleet, which tells which executors there are.
//
// A run's process gets a private directory, which is its HOME, TMPDIR and working directory, and an environment of
// five parts, later ones winning: the fixed allow-list of the server's environment (PATH, LANG, LC_ALL, TZ, proxies
// and certificate stores), the private directories, the run's own env, that of its credentials, and what Writ tells:
// WRIT_RUN_ID, WRIT_VARS and WRIT_OUTPUTS (paths), WRIT_DRY_RUN (0 or 1) and WRIT_VAR_<NAME> for each scalar variable
// that fits.
//
// What credentials open is fetched when the run is claimed, lies in files of that directory or in the memory of an
// ssh agent (SSH_AUTH_SOCK), and never on a command line. Playbooks get their passwords by files that are gone once
// they are read; scripts find them by WRIT_SSH_PASSWORD_FILE, WRIT_BECOME_PASSWORD_FILE and WRIT_VAULT_PASSWORD_FILE.
// Variables of credentials are laid over those of the run and are data: nothing in them is evaluated. All of it is
// gone when the tool has ended, and what was made for the run alone is revoked then.
//
// The run's own timeout rules over the executor's, also where it is longer; without one the executor's applies, and
// zero there is no limit.
package execution
