package inventory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/lazyregexp"
)

// maxHeaders is the maximum size of a source's headers in bytes.
const maxHeaders = 32 << 10

// overHTTP gets a document. Redirects follow the rules of platform/egress.
func (k *Collector) overHTTP(ctx context.Context, c catalog.Collection) ([]byte, catalog.Format, error) {
	req, err := request(ctx, c)
	if err != nil {
		return nil, "", err
	}
	client := egress.Client(k.cfg.Egress, egress.Options{
		Timeout: k.cfg.Timeout, MaxAnswer: catalog.MaxInventory, TLS: k.cfg.TLS, Resolver: k.cfg.Resolver,
	})
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return nil, "", exchangeFailed(ctx, err)
	}
	body, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return nil, "", exchangeFailed(ctx, err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, "", refuse("the server answered with status %d", resp.StatusCode)
	}
	format, err := formatOf(resp.Header.Get("Content-Type"), body)
	if err != nil || format != catalog.JSON {
		return body, format, err
	}
	if isListing(body) {
		body, err = convert(body)
	}
	return body, format, err
}

// request builds the request of a source. Its errors do not contain the address and the headers, which may be secret.
func request(ctx context.Context, c catalog.Collection) (*http.Request, error) {
	u, err := url.Parse(c.Config.URL)
	if err != nil {
		return nil, refuse("the url of the source is not an address")
	}
	if err := egress.CheckURL(u); err != nil {
		return nil, refuse("the url of the source must be http or https with a valid host name")
	}
	if u.User != nil {
		return nil, refuse("the url of the source holds a user: use the header Authorization")
	}
	u.Fragment = ""
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, refuse("the url of the source is not an address")
	}
	req.Header.Set("Accept", "application/json, application/yaml, text/plain;q=0.9, */*;q=0.5")
	if err := setHeaders(req.Header, headersOf(c)); err != nil {
		return nil, err
	}
	return req, nil
}

// headersOf returns the headers of the source, and those headers of its credential that the source does not set.
func headersOf(c catalog.Collection) map[string]string {
	out := make(map[string]string, len(c.Access.Headers)+len(c.Config.Headers))
	for name, value := range c.Access.Headers {
		out[http.CanonicalHeaderKey(name)] = value.Reveal()
	}
	for name := range c.Config.Headers {
		delete(out, http.CanonicalHeaderKey(name))
	}
	maps.Copy(out, c.Config.Headers)
	return out
}

// setHeaders validates headers and sets them.
func setHeaders(h http.Header, list map[string]string) error {
	size := 0
	for name, value := range list {
		size += len(name) + len(value)
		own := []string{"Host", "Connection", "Content-Length", "Transfer-Encoding", "Te", "Trailer", "Upgrade",
			"Proxy-Authorization", "Accept-Encoding"}
		if !headerName.MatchString(name) || slices.Contains(own, http.CanonicalHeaderKey(name)) {
			return refuse("the header %.60q cannot be set", name)
		}
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return refuse("the value of the header %.60q must be one line", name)
		}
		h.Set(name, value)
	}
	if size > maxHeaders {
		return refuse("the headers have more than %d bytes", maxHeaders)
	}
	return nil
}

var headerName = lazyregexp.New("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}$")

// exchangeFailed returns the fault of a failed exchange, without the address.
func exchangeFailed(ctx context.Context, err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var timeout interface{ Timeout() bool }
	switch {
	case ctx.Err() != nil:
		return err // Collect distinguishes a timeout from the end of the caller's context
	case errors.Is(err, egress.ErrRefused):
		return refuse("the address, or one that it redirects to, is not allowed").Because(err)
	case errors.Is(err, egress.ErrTooLarge):
		return refuse("the document has more than %d bytes", catalog.MaxInventory).Because(err)
	case errors.As(err, &timeout) && timeout.Timeout():
		return refuse("the source did not answer in time").Because(err)
	default:
		return refuse("the server cannot be reached or closed the connection").Because(err)
	}
}

// formatOf determines the format from the content type or, if that is not conclusive, from the content.
func formatOf(contentType string, body []byte) (catalog.Format, error) {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		media = ""
	}
	switch {
	case media == "text/html" || media == "application/xhtml+xml":
		return "", refuse("the server answered with a web page, perhaps a login page")
	case media == "application/json" || media == "text/json" || strings.HasSuffix(media, "+json"):
		if !json.Valid(body) {
			return "", refuse("the server's answer is declared as JSON and is not JSON")
		}
		return catalog.JSON, nil
	case slices.Contains([]string{"application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"}, media),
		strings.HasSuffix(media, "+yaml"):
		return catalog.YAML, nil
	default:
		return detectFormat(body), nil
	}
}

// aKey matches the first line of a mapping, and aComment a line without content.
var (
	aKey     = lazyregexp.New(`^(["']?[A-Za-z_][^"':\[\]=#\s]*["']?)\s*:(\s+[{#&!].*|\s*)$`)
	aComment = lazyregexp.New(`^\s*([#;].*)?$`)
)

// detectFormat determines the format from the content: an object is JSON, a mapping YAML, anything else INI.
func detectFormat(body []byte) catalog.Format {
	text := strings.TrimPrefix(string(body), "\ufeff")
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		if json.Valid([]byte(text)) {
			return catalog.JSON
		}
		return catalog.YAML
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case aComment.MatchString(line):
			continue
		case strings.HasPrefix(line, "---"), strings.HasPrefix(line, "%YAML"), aKey.MatchString(line):
			return catalog.YAML
		default:
			return catalog.INI
		}
	}
	return catalog.INI
}

// fromProject reads a file of the checkout.
func (k *Collector) fromProject(_ context.Context, c catalog.Collection) (_ []byte, _ catalog.Format, err error) {
	f, fi, err := openBelow(c.Tree, c.Path)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if fi.Mode()&0o111 != 0 {
		return nil, "", refuse("the file is a program: a source of the kind script runs it")
	}
	body, err := egress.ReadAll(f, catalog.MaxInventory)
	if errors.Is(err, egress.ErrTooLarge) {
		return nil, "", refuse("the file has more than %d bytes", catalog.MaxInventory)
	}
	if err != nil {
		return nil, "", fmt.Errorf("read a file of the checkout: %w", err)
	}
	switch strings.ToLower(path.Ext(c.Path)) {
	case ".json":
		return body, catalog.JSON, nil
	case ".yml", ".yaml":
		return body, catalog.YAML, nil
	case ".ini":
		return body, catalog.INI, nil
	default:
		return body, detectFormat(body), nil
	}
}

// openBelow opens a regular file of a tree and follows only links that stay in the tree.
func openBelow(tree, name string) (*os.File, fs.FileInfo, error) {
	if tree == "" || name == "" {
		return nil, nil, refuse("the source has no path in a project")
	}
	root, err := os.OpenRoot(tree)
	if err != nil {
		return nil, nil, fmt.Errorf("open the checkout: %w", err)
	}
	defer func() { _ = root.Close() }() // it was only read
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, refuse("the project has no file %.120q", name).Because(err)
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = refuse("the path %.120q is not a file: a source needs one file", name)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, fi, nil
}
