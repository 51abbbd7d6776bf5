package ui

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// formBrowser is a browser without script: it keeps cookies, posts forms from pages, and follows no redirect by itself.
type formBrowser struct {
	t   *testing.T
	url string
	via *http.Client
}

func browseForms(t *testing.T, s *harness.Server) *formBrowser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &formBrowser{t: t, url: s.URL, via: &http.Client{Jar: jar,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// shownForm is an answer to a formBrowser.
type shownForm struct {
	status   int
	location string
	body     string
	header   http.Header
}

func (v *formBrowser) send(method, path string, form url.Values, header ...string) shownForm {
	v.t.Helper()
	return v.sendBody(method, path, form.Encode(), header...)
}

func (v *formBrowser) sendBody(method, path, text string, header ...string) shownForm {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), method, v.url+path, strings.NewReader(text))
	if err != nil {
		v.t.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", v.url)
	}
	for i := 0; i+1 < len(header); i += 2 {
		if req.Header.Del(header[i]); header[i+1] != "" {
			req.Header.Set(header[i], header[i+1])
		}
	}
	resp, err := v.via.Do(req)
	if err != nil {
		v.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return shownForm{resp.StatusCode, resp.Header.Get("Location"), string(body), resp.Header}
}

func (v *formBrowser) get(path string) shownForm {
	v.t.Helper()
	return v.send(http.MethodGet, path, nil)
}

func (v *formBrowser) post(path string, form url.Values) shownForm {
	v.t.Helper()
	return v.send(http.MethodPost, path, form)
}

// want fails the test unless the answer has the status and each text.
func (s shownForm) want(t *testing.T, status int, texts ...string) shownForm {
	t.Helper()
	if s.status != status {
		t.Fatalf("status %d to %q, want %d\n%s", s.status, s.location, status, s.words())
	}
	for _, text := range texts {
		if !strings.Contains(s.body, text) {
			t.Errorf("no %q on the page\n%s", text, s.words())
		}
	}
	return s
}

// lacks fails the test if the page has one of the texts.
func (s shownForm) lacks(t *testing.T, texts ...string) shownForm {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(s.body, text) {
			t.Errorf("%q is on the page", text)
		}
	}
	return s
}

// to fails the test unless the answer leads to a path with the prefix.
func (s shownForm) to(t *testing.T, prefix string) shownForm {
	t.Helper()
	if s.status != http.StatusSeeOther || !strings.HasPrefix(s.location, prefix) {
		t.Fatalf("status %d to %q, want 303 to %q\n%s", s.status, s.location, prefix, s.words())
	}
	return s
}

var pageMarks = regexp.MustCompile(`<[^>]*>`)

func (s shownForm) words() string {
	text := strings.Join(strings.Fields(pageMarks.ReplaceAllString(s.body, " ")), " ")
	return text[:min(len(text), 1500)]
}

const formPassword = "a long enough password"

// signedInForms returns a formBrowser who signed in as a new account of a role. An admin makes the account.
func signedInForms(t *testing.T, s *harness.Server, name, role string) *formBrowser {
	t.Helper()
	createdBy(t, s.Client, "/v1/users", harness.Body{"username": name, "role": role, "password": formPassword})
	v := browseForms(t, s)
	v.post("/ui/login", url.Values{"username": {name}, "password": {formPassword}, "_page": {"/ui/login"}}).to(t, "/ui/")
	return v
}

// createdBy creates an object and returns its id.
func createdBy(t *testing.T, c harness.Client, path string, body any) string {
	t.Helper()
	a := c.Do(http.MethodPost, path, body)
	var out struct{ ID string }
	if err := json.Unmarshal(a.Body, &out); err != nil || a.Status != http.StatusCreated {
		t.Fatalf("POST %s: %d %s", path, a.Status, a.Body)
	}
	return out.ID
}

// hostLines is an inventory of n hosts in one group.
func hostLines(n int) string {
	var b strings.Builder
	b.WriteString("[web]\n")
	for i := range n {
		b.WriteString("web" + strconv.Itoa(i) + "\n")
	}
	return b.String()
}

// tokenOnPage finds the secret of a token on a page.
var tokenOnPage = regexp.MustCompile(`writ_[0-9A-Za-z]{32}_[0-9A-Za-z]{6}`)
