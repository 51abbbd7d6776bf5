package git_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/writ-automation/writ/adapters/git"
	"github.com/writ-automation/writ/ports/fault"
)

// field returns the member that an Invalid fault names.
func field(err error) string {
	var f *fault.Error
	if !asFault(err, &f) || f.Kind != fault.Invalid || len(f.Fields) != 1 {
		return ""
	}
	return f.Fields[0].Location
}

func TestCheckTakes(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	for _, url := range []string{
		"https://example.com/a/b.git", "https://someone@example.com/a/b", "https://example.com:8443/b.git",
		"https://[2001:db8::1]:8443/b.git",
		"https://10.0.0.1/b.git", "HTTPS://Example.COM/b.git", "ssh://git@example.com/a/b.git",
		"ssh://git@example.com:2222/~a/b.git", "ssh://example.com/b",
		"git@example.com:a/b.git", "git@example.com:/srv/b.git", "git@[2001:db8::1]:b.git", "git://example.com/b.git",
		"https://example.com/a%20b.git",
		"file://" + w.root + "/a.git", w.root + "/a", w.root + "/x/../a", "file://" + w.root + "/a%20b",
	} {
		if err := w.Check(url, "main"); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	for _, branch := range []string{"", "main", "feature/x", "v1.2", "a@b", "ünï", strings.Repeat("b", 255), "a-b",
		"HEAD"} {
		if err := w.Check("https://example.com/b.git", branch); err != nil {
			t.Errorf("%q: %v", branch, err)
		}
	}
}

// Keeps T14, T51.
func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(w.root, "way-out")); err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{
		"", " ", "-ufoo", "-u./evil", "--upload-pack=touch x", "--upload-pack=touch x:y", "ext::sh -c 'touch x'", "ext::sh",
		"fd::17", "user@ext::sh",
		"http://example.com/b.git", "ftp://example.com/b.git", "rsync://example.com/b", "git+ssh://example.com/b",
		"ssh+git://example.com/b", "javascript:alert(1)",
		"https://someone:word@example.com/b.git", "https://:word@example.com/b.git", "ssh://a:b@example.com/b",
		"git://a@example.com/b", "https://@example.com/b",
		"https://example.com", "https://example.com/", "https:///b.git", "https://example.com:0/b",
		"https://example.com:70000/b", "https://example.com:x/b",
		"https://2130706433/b", "https://0x7f.1/b", "https://127.1/b", "https://exa mple.com/b", "https://-x.example.com/b",
		"https://exämple.com/b",
		"https://example.com./b", "https://example.com/b?x=1", "https://example.com/b#x", "https:example.com/b",
		"https://[fe80::1%25lo]/b",
		"https://[127.0.0.1]/b",
		" https://example.com/b", "https://example.com/b ", "https://example.com/\nb", "https://example.com/b\x00",
		"https://example.com/\xff",
		"https://example.com/" + strings.Repeat("b", 2048), "ssh://-oProxyCommand=touch/x",
		"ssh://-oProxyCommand=x@example.com/b",
		"-oProxyCommand=x@example.com:b",
		"git@-oProxyCommand=x:b", "git@example.com:-x", "git@example.com:", "git@example.com::x", "example.com:b", "C:\\b",
		"a/b", "./b", "../b", "b.bundle",
		"file:///etc", "file://" + outside, "file://" + w.root, "file://" + w.root + "/../b",
		"file://" + w.root + "/%2e%2e/b", "file://host" + w.root + "/b",
		w.root + "/../../etc", w.root + "/way-out", w.root + "/way-out/../way-out/b", w.root + "x/b",
		"file://" + w.root + "/way-out",
		"file:" + w.root + "/b?x", "//host/b",
	} {
		if err := w.Check(url, ""); field(err) != "repo_url" {
			t.Errorf("%q: %v", url, err)
		}
	}
	for _, branch := range []string{
		"-x", "--upload-pack=x", "a..b", "a b", "a~1", "a^", "a:b", "a?", "a*", "a[b", "a\\b", "/a", "a/", "a//b", ".a",
		"a/.b", "a.", "a.lock", "a.lock/b",
		"@", "a@{1}", "a\x00", "a\n", "a\x7f", "\xff", strings.Repeat("b", 256),
	} {
		if err := w.Check("https://example.com/b.git", branch); field(err) != "branch" {
			t.Errorf("%q: %v", branch, err)
		}
	}
}

func TestCheckWithoutLocalProjects(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(c *git.Config) { c.LocalRoot = "" })
	for _, url := range []string{"file:///srv/b.git", "/srv/b.git"} {
		if err := w.Check(url, ""); field(err) != "repo_url" {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// TestBranchesAsGitValidatesThem compares the checks with git itself.
func TestBranchesAsGitValidatesThem(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	r := newRepo(t, t.TempDir())
	for _, name := range []string{"a", "a/b", "a..b", "a.lock", "a@{", "a@", "{a}", "a.b", "a/.b", "é", "a\tb", "[", "]",
		"a.lock.b", "~", "-a", "a/-b"} {
		err := run(r.dir, "git", "check-ref-format", "--branch", name)
		if ours := w.Check("https://example.com/b", name); (ours == nil) != (err == nil) {
			t.Errorf("%q: git says %v, this says %v", name, err, ours)
		}
	}
}

// TestCheckNeverPanics checks random input; an accepted branch never looks like an option.
func TestCheckNeverPanics(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	rapid.Check(t, func(t *rapid.T) {
		url := rapid.OneOf(rapid.String(), rapid.StringMatching(
			`(https|ssh|git|file|ext)?(://|::)?[-a-z@:/.\[\]%0-9]{0,20}`)).Draw(t, "url")
		branch := rapid.OneOf(rapid.String(), rapid.StringMatching(`[-a-z@{}/.~^:]{0,10}`)).Draw(t, "branch")
		if w.Check(url, branch) == nil && (strings.HasPrefix(url, "-") || strings.Contains(url, "ext::") ||
			strings.HasPrefix(branch, "-")) {
			t.Fatalf("%q %q", url, branch)
		}
	})
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []git.Config{{}, {Dir: "relative"}, {Dir: "/x\"y"}, {Dir: "/x$y"},
		{Dir: t.TempDir(), LocalRoot: "relative"}} {
		if _, err := git.New(c); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}
