package rundir

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/reserved"
	"github.com/writ-automation/writ/ports/runs"
)

// Bounds on the variables in the environment; the file of variables contains all of them.
const (
	maxVar  = 64 << 10
	maxVars = 512 << 10
)

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Allowed lists the variables of the server's environment that every run gets: the search path, the language and the
// time zone, and the proxies and certificates. Nothing else is inherited.
func Allowed() []string {
	return []string{
		"PATH", "LANG", "LC_ALL", "TZ",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE",
	}
}

// Base selects the allowed variables, and those named by extra, from a process's environment.
func Base(environ, extra []string) map[string]string {
	names := append(Allowed(), extra...)
	out := map[string]string{"PATH": defaultPath}
	for _, kv := range environ {
		if k, v, ok := strings.Cut(kv, "="); ok && slices.Contains(names, k) && !strings.HasPrefix(k, "WRIT_") {
			out[k] = v
		}
	}
	if out["LANG"] == "" && out["LC_ALL"] == "" {
		out["LANG"] = "C.UTF-8"
	}
	return out
}

// BaseSecrets returns the passwords in the base environment: those in the addresses of proxies.
func BaseSecrets(base map[string]string) []string {
	var out []string
	for k, v := range base {
		if !strings.HasSuffix(strings.ToLower(k), "_proxy") {
			continue
		}
		if u, err := url.Parse(v); err == nil && u.User != nil {
			if p, ok := u.User.Password(); ok {
				out = append(out, p)
			}
		}
	}
	return out
}

// Env returns the whole environment of a run's process: the base, then the private directories, then the run's own,
// then that of its credentials, then Writ's own variables, which nothing overrides. WRIT_VAR_<NAME> holds the run's
// variables overridden by those of its credentials.
func (d Dir) Env(base map[string]string, r *runs.Run, s Secrets) map[string]string {
	out := make(map[string]string, len(base)+len(r.Spec.Env)+len(s.Env)+len(r.Vars)+6)
	for k, v := range base {
		out[k] = v
	}
	out["HOME"], out["TMPDIR"] = d.Work(), d.Work()
	for k, v := range r.Spec.Env {
		if k != "" && !strings.ContainsAny(k, "=\x00") && !strings.ContainsRune(v, 0) && len(v) <= maxVar {
			out[k] = v
		}
	}
	for k, v := range s.Env {
		out[k] = v
	}
	addVars(out, s.Vars, r.Vars)
	out["WRIT_RUN_ID"] = r.ID
	out["WRIT_VARS"] = d.Vars()
	out["WRIT_OUTPUTS"] = d.Outputs()
	delete(out, "WRIT_DRY_RUN")
	if r.Spec.DryRun {
		out["WRIT_DRY_RUN"] = "1"
	}
	return out
}

// addVars adds WRIT_VAR_<NAME> for each scalar. If two names map to the same variable, the first in order is used, and
// that of an earlier list before that of a later one. A value that an environment cannot contain is left out.
func addVars(out map[string]string, lists ...runs.Vars) {
	total, mine := 0, map[string]bool{}
	for _, vars := range lists {
		for _, k := range slices.Sorted(maps.Keys(vars)) {
			v, ok := scalar(vars[k])
			name := "WRIT_VAR_" + reserved.Upper(k)
			if ok && !mine[name] && len(v) <= maxVar && total+len(v) <= maxVars {
				out[name] = v
				total += len(v)
			}
			mine[name] = true
		}
	}
}

func scalar(raw json.RawMessage) (string, bool) {
	t := strings.TrimSpace(string(raw))
	if t == "" || t[0] == '{' || t[0] == '[' || t == "null" {
		return "", false
	}
	if t[0] != '"' {
		return t, true
	}
	var s string
	if json.Unmarshal(raw, &s) != nil || strings.ContainsRune(s, 0) {
		return "", false
	}
	return s, true
}
