package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// maxInput is the limit of a body of 'writ api', in bytes.
const maxInput = 64 << 20

// apiFlags make a request.
type apiFlags struct {
	fields, headers []string
	input           string
	include         bool
}

func apiCommand(w environment) *cobra.Command {
	var f apiFlags
	c := &cobra.Command{
		Use: "api METHOD PATH", Short: "Send a request to the API and print the answer", Args: args(cobra.ExactArgs(2)),
		Long: `Send a request to the API as the account of the context, and print the answer. The operations are on the page
/docs of the server.

--field adds a member of the body, or of the query of a GET and a DELETE. Its value is true, false, null or a number
where it is written so, else a text. JSON is printed indented; --output and --jq apply to it.

Exit codes: 0 a success, 1 an error, whose body is printed, 2 usage.`,
		Example: `  writ api GET /v1/runs --field limit=5 --jq '.runs[].id'
  writ api POST /v1/teams --field name=web
  writ api PUT /v1/templates/tpl_01... --input template.json --header 'If-Match: "3"'`,
	}
	fs := c.Flags()
	fs.StringArrayVar(&f.fields, "field", nil, "`name=value` of the body or the query (repeatable)")
	fs.StringVar(&f.input, "input", "", "`file` with the body; - is standard input")
	fs.StringArrayVar(&f.headers, "header", nil, "`'Name: value'` to send (repeatable)")
	fs.BoolVar(&f.include, "include", false, "print the status and the headers of the answer first")
	c.MarkFlagsMutuallyExclusive("field", "input")
	return clientCommand(w, c, func(ctx context.Context, cl *client, a []string, out printer) error {
		return f.send(ctx, cl, strings.ToUpper(a[0]), a[1], out)
	})
}

func (f *apiFlags) send(ctx context.Context, c *client, method, path string, out printer) error {
	methods := []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete}
	switch {
	case !slices.Contains(methods, method):
		return usagef("METHOD %q: expected one of %s", oneLine(method, 40), strings.Join(methods, ", "))
	case !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//"):
		return usagef("PATH %q: expected a path of the API, such as /v1/runs", oneLine(path, 100))
	}
	var err error
	if c.header, err = f.header(); err != nil {
		return err
	}
	path, body, err := f.body(out.environment, method, path)
	if err != nil {
		return err
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	resp, err := c.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if f.include {
		printHeader(out, resp)
	}
	if err := printAnswer(out, resp); err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("the server answered %s", plainText(resp.Status))
	}
	return nil
}

// header reads the headers of the flags. The token comes from the context alone, so that it is sent to its server only.
func (f *apiFlags) header() (http.Header, error) {
	h := http.Header{}
	for _, line := range f.headers {
		name, value, ok := strings.Cut(line, ":")
		name = http.CanonicalHeaderKey(strings.TrimSpace(name))
		switch {
		case !ok || name == "" || strings.ContainsAny(name, " \t\r\n") || strings.ContainsAny(value, "\r\n"):
			return nil, usagef("--header %q: expected 'Name: value'", oneLine(line, 100))
		case name == "Authorization":
			return nil, usagef("--header: the token is that of the context, WRIT_TOKEN or --token")
		}
		h[name] = append(h[name], strings.TrimSpace(value))
	}
	return h, nil
}

// body returns the body of the flags, nil for none, and the path with the query of the fields.
func (f *apiFlags) body(w environment, method, path string) (string, []byte, error) {
	if f.input != "" {
		in := w.in
		if f.input != "-" {
			file, err := os.Open(f.input)
			if err != nil {
				return "", nil, usagef("--input: %w", err)
			}
			defer func() { _ = file.Close() }()
			in = file
		}
		raw, err := io.ReadAll(io.LimitReader(in, maxInput+1))
		if err == nil && len(raw) > maxInput {
			err = fmt.Errorf("more than %d MiB", maxInput>>20)
		}
		if err != nil {
			return "", nil, fmt.Errorf("--input: %w", err)
		}
		return path, raw, nil
	}
	members, query := map[string]any{}, url.Values{}
	for _, field := range f.fields {
		name, value, ok := strings.Cut(field, "=")
		if !ok || name == "" {
			return "", nil, usagef("--field %q: expected name=value", oneLine(field, 100))
		}
		members[name] = fieldValue(value)
		query.Add(name, value)
	}
	switch {
	case len(f.fields) == 0:
		return path, nil, nil
	case method == http.MethodGet || method == http.MethodHead || method == http.MethodDelete:
		sep := "?"
		if strings.Contains(path, "?") {
			sep = "&"
		}
		return path + sep + query.Encode(), nil, nil
	}
	raw, err := json.Marshal(members)
	return path, raw, err
}

// fieldValue is a value as JSON if it is a number, true, false or null, else a text.
func fieldValue(text string) any {
	v, err := decoded([]byte(text))
	switch v.(type) {
	case json.Number, bool, nil:
		if err == nil && json.Valid([]byte(text)) {
			return v
		}
	}
	return text
}

// terminalWriter makes what is written to a terminal harmless.
type terminalWriter struct{ *logWriter }

func (w terminalWriter) Write(p []byte) (int, error) { return len(p), w.write(string(p)) }

func printHeader(out printer, resp *http.Response) {
	var b bytes.Buffer
	_, _ = fmt.Fprintf(&b, "%s %s\n", resp.Proto, resp.Status)
	for _, name := range slices.Sorted(maps.Keys(resp.Header)) {
		for _, value := range resp.Header[name] {
			_, _ = fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	_, _ = fmt.Fprintln(out.out, plainText(b.String()))
}

// printAnswer prints JSON in the form of the flags, and everything else as it is; a terminal gets no control
// characters.
func printAnswer(out printer, resp *http.Response) error {
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if !strings.HasSuffix(media, "json") {
		if out.json && resp.StatusCode != http.StatusNoContent {
			return errors.New("the answer is no JSON: omit --output and --jq")
		}
		to := out.out
		if newScreen(out.environment).tty {
			to = terminalWriter{&logWriter{screen: newScreen(out.environment)}}
		}
		if _, err := io.Copy(to, resp.Body); err != nil {
			return fmt.Errorf("read the answer: %w", err)
		}
		return nil
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil
	}
	if !json.Valid(raw) {
		return errors.New("the answer is no valid JSON, or is too large")
	}
	if resp.StatusCode/100 != 2 { // an expression for the answer does not fit an error
		out.form, out.jq, out.template = formJSON, nil, nil
	}
	return out.document(json.RawMessage(raw))
}
