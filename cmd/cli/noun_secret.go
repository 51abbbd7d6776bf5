package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// secretPairs reads the secrets that k=@FILE, k=- and k name.
func secretPairs(w environment, flag string, list []string) (map[string]any, error) {
	out := make(map[string]any, len(list))
	for _, item := range list {
		k, from, given := strings.Cut(item, "=")
		file, isFile := strings.CutPrefix(from, "@")
		switch {
		case k == "":
			return nil, usagef("--%s: expected k=@FILE, k=- or k", flag)
		case !given:
			file = "?"
		case from == "-":
			file = "-"
		case !isFile || file == "":
			return nil, usagef("--%s %s: a secret is not given on the command line, where other users can read it: give "+
				"%[2]s=@FILE, %[2]s=- for standard input, or %[2]s alone, which asks", flag, k)
		}
		text, err := secretText(w, k, file)
		if err != nil {
			return nil, err
		}
		if out, err = setPath(out, k, text); err != nil { // such as vars.NAME of the kind env
			return nil, usagef("--%s %w", flag, err)
		}
	}
	return out, nil
}

// secretText reads a secret from a file, from standard input (-), or from the terminal (?). One line break at its end
// is cut, unless there are several lines.
func secretText(w environment, what, file string) (string, error) {
	var raw []byte
	var err error
	if file == "?" {
		in, ok := w.in.(*os.File)
		if !ok || !interactive(w.in) {
			return "", usagef("%s: there is no terminal to ask on: give a file, or - for standard input", what)
		}
		_, _ = fmt.Fprintf(w.err, "%s: ", plainText(what))
		raw, err = term.ReadPassword(int(in.Fd())) //nolint:gosec // file descriptors are small
		_, _ = fmt.Fprintln(w.err)
	} else {
		raw, err = w.input(file)
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", what, err)
	}
	text := string(raw)
	if line, rest, _ := strings.Cut(text, "\n"); rest == "" {
		text = strings.TrimSuffix(line, "\r")
	}
	return text, nil
}

// input reads a bounded file, - is standard input.
func (w environment) input(name string) ([]byte, error) {
	in := w.in
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, usageError{err}
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	raw, err := io.ReadAll(io.LimitReader(in, maxBody+1))
	if err == nil && len(raw) > maxBody {
		err = usagef("%s is larger than %d bytes", name, maxBody)
	}
	return raw, err
}
