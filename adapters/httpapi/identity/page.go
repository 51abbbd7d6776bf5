package identity

import (
	"bytes"
	"html/template"
	"net/http"

	"github.com/writ-automation/writ/adapters/httpapi"
)

// failureHTML is the page of a failed sign-in. It loads nothing, so the restrictive content policy of all answers
// suffices.
const failureHTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign-in failed</title>
</head>
<body>
<main>
<h1>Sign-in failed</h1>
<p>{{.Text}}</p>
<p>Whoever runs this server finds more in its log under the request id <code>{{.RequestID}}</code>.</p>
<p><a href="/ui/">Back to the start</a></p>
</main>
</body>
</html>
`

var failurePage = template.Must(template.New("sorry").Parse(failureHTML))

// failure is the content of the page.
type failure struct{ Text, RequestID string }

// fail answers a browser with a page and a program with a problem. The cause is only logged.
func fail(w http.ResponseWriter, r *http.Request, err error) {
	if httpapi.Accepts(r, "application/json") || !httpapi.Accepts(r, "text/html") {
		httpapi.WriteError(w, r, err)
		return
	}
	p := httpapi.Explain(w, r, err)
	var b bytes.Buffer
	if err := failurePage.Execute(&b, failure{Text: p.Text, RequestID: httpapi.RequestID(r.Context())}); err != nil {
		httpapi.WriteError(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(p.Status)
	_, _ = w.Write(b.Bytes())
}
