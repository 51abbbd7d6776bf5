package identity

import (
	"fmt"
	"html"
	"net/http"

	"github.com/writ-automation/writ/adapters/httpapi"
)

// failurePage is the page of a failed sign-in, with its cause and the request id. It loads nothing, so the restrictive
// content policy of all answers suffices.
const failurePage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign-in failed</title>
</head>
<body>
<main>
<h1>Sign-in failed</h1>
<p>%s</p>
<p>Whoever runs this server finds more in its log under the request id <code>%s</code>.</p>
<p><a href="/ui/">Back to the start</a></p>
</main>
</body>
</html>
`

// fail answers a browser with a page and a program with a problem. The cause is only logged.
func fail(w http.ResponseWriter, r *http.Request, err error) {
	if httpapi.Accepts(r, "application/json") || !httpapi.Accepts(r, "text/html") {
		httpapi.WriteError(w, r, err)
		return
	}
	p := httpapi.Explain(w, r, err)
	id := httpapi.RequestID(r.Context())
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(p.Status)
	_, _ = fmt.Fprintf(w, failurePage, html.EscapeString(p.Text), html.EscapeString(id))
}
