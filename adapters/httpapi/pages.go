package httpapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// Whole answers with bytes and the given headers, which come in pairs.
func Whole(body []byte, header ...string) *StreamOutput {
	return &StreamOutput{Body: func(hctx huma.Context) {
		_, w := humago.Unwrap(hctx)
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(http.StatusOK)
		_, _ = w.Write(body)
	}}
}

// Page answers with a document for people.
func Page(body []byte, name string) *StreamOutput {
	return Whole(body, "Content-Type", "text/html; charset=utf-8", "Content-Security-Policy", policy(body),
		"Content-Disposition", `inline; filename="`+name+`"`)
}

// policy forbids a document everything except the style in its head, which is identified by its hash. The document is
// shown in a sandbox, so that injected markup cannot act for the reader.
func policy(doc []byte) string {
	style := "'none'"
	head, _, _ := bytes.Cut(doc, []byte("</head>"))
	if _, rest, ok := bytes.Cut(head, []byte("<style>")); ok {
		if css, _, ok := bytes.Cut(rest, []byte("</style>")); ok {
			sum := sha256.Sum256(css)
			style = "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		}
	}
	return "default-src 'none'; style-src " + style +
		"; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; sandbox"
}

// Accepts reports whether the request accepts a media type by name. Wildcards do not count, because all clients send
// them.
func Accepts(r *http.Request, media string) bool {
	for _, part := range strings.Split(strings.Join(r.Header.Values("Accept"), ","), ",") {
		name, params, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(name), media) && weight(params) > 0 {
			return true
		}
	}
	return false
}

// weight returns the parameter q, 1 if it is absent or invalid.
func weight(params string) float64 {
	for _, p := range strings.Split(params, ";") {
		name, value, ok := strings.Cut(p, "=")
		if !ok || !strings.EqualFold(strings.TrimSpace(name), "q") {
			continue
		}
		if q, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil {
			return q
		}
	}
	return 1
}
