// Package execution is the executor: it claims runs from a control plane, executes them with the tools of this
// process and reports what they said and how they ended. It runs beside the server's database or, over a relay, on a
// machine without one; the control plane is all that it knows of either.
//
// A run's process gets a private directory, which is its HOME, TMPDIR and working directory, and an environment of
// four parts, later ones winning: the fixed allow-list of the server's environment (PATH, LANG, LC_ALL, TZ, proxies
// and certificate stores), the private directories, the run's own env, and what Writ tells: WRIT_RUN_ID, WRIT_VARS
// and WRIT_OUTPUTS (paths), WRIT_DRY_RUN (0 or 1) and WRIT_VAR_<NAME> for each scalar variable that fits.
//
// The run's own timeout rules over the executor's, also where it is longer; without one the executor's applies, and
// zero there is no limit.
package execution
