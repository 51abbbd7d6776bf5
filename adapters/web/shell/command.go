package shell

import (
	"strings"

	"github.com/writ-automation/writ/adapters/httpapi"
)

// commandOf returns the request as a command line of curl or of writ. Secrets stay in variables of the environment.
func commandOf(r *Request, as string, c httpapi.Call) string {
	var b strings.Builder
	if as == "curl" {
		b.WriteString("curl -X " + c.Method + " " + quote(origin(r)+c.Path))
		b.WriteString(" \\\n  -H \"Authorization: Bearer $WRIT_TOKEN\"")
		for _, name := range []string{"If-Match", "Idempotency-Key"} {
			if v := c.Header.Get(name); v != "" {
				b.WriteString(" \\\n  -H " + quote(name+": "+v))
			}
		}
		if len(c.Body) > 0 {
			b.WriteString(" \\\n  -H 'Content-Type: application/json' \\\n  -d " + quote(string(c.Body)))
		}
		return b.String()
	}
	if len(c.Body) > 0 {
		b.WriteString("printf %s " + quote(string(c.Body)) + " |\n  ")
	}
	b.WriteString("writ api " + c.Method + " " + quote(c.Path))
	for _, name := range []string{"If-Match", "Idempotency-Key"} {
		if v := c.Header.Get(name); v != "" {
			b.WriteString(" --header " + quote(name+": "+v))
		}
	}
	if len(c.Body) > 0 {
		b.WriteString(" --input -")
	}
	return b.String()
}

func origin(r *Request) string {
	if public := r.shell.router.Config().PublicURL; public != "" {
		return strings.TrimSuffix(public, "/")
	}
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// quote makes one word of a POSIX shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
