package help

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestAddressesStayInTheManual(t *testing.T) {
	t.Parallel()
	for to, want := range map[string]string{
		"policies.md": "/ui/help/guides/policies", "../reference/cli.md#runs": "/ui/help/reference/cli#runs",
		"#here":                "#here",
		"https://example.org/": "https://example.org/", "../adr/0001-x.md": "#top", "../../README.md": "#top",
		"javascript:alert(1)": "#top", "//evil.example/x.md": "#top",
	} {
		if got := address("guides", to); got != want {
			t.Errorf("%s leads to %s, want %s", to, got, want)
		}
	}
}

func TestMarkupIsHarmless(t *testing.T) {
	t.Parallel()
	d := newDocument("guides/x", []byte("# Title\n\nA <script>alert(1)</script> [x](javascript:alert(1)).\n\n"+
		"## Part one\n\n"+
		"| a | b |\n|---|---|\n| 1 | 2 |\n\n```sh\necho '<b>'\n```\n"))
	markup, contents, err := render(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<script", "javascript:", "<h1", "style="} {
		if strings.Contains(markup, bad) {
			t.Errorf("%s in %s", bad, markup)
		}
	}
	if len(contents) != 1 || contents[0].Anchor != "part-one" || contents[0].Heading != "Part one" || d.Title != "Title" {
		t.Errorf("%+v %q", contents, d.Title)
	}
	if !strings.Contains(markup, `<div class="scroll" tabindex="0"><table>`) || !strings.Contains(markup, "&lt;b&gt;") {
		t.Error(markup)
	}
}

func TestSearchFindsPassages(t *testing.T) {
	t.Parallel()
	h := &handlers{Params: Params{Pages: Pages{fstest.MapFS{
		"guides/queues.md": {Data: []byte("# Queues\n\nRuns wait.\n\n## Workers of a queue\n\n" +
			"A worker claims runs of its queues.\n")},
		"reference/cli.md":  {Data: []byte("# Commands\n\n`writ worker` starts a worker.\n")},
		"guides/picture.go": {Data: []byte("no document")},
	}}}}
	list, err := h.documents()
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	found, more := search(list, "WORKER claims")
	if len(found) != 1 || more != 0 || found[0].Path != "/ui/help/guides/queues#workers-of-a-queue" ||
		found[0].Word == "" {
		t.Errorf("%+v %d", found, more)
	}
	got := found[0].Before + "|" + found[0].Word + "|" + found[0].After
	if got != "A |worker| claims runs of its queues. " {
		t.Errorf("%q", got)
	}
	if found, _ := search(list, "worker"); len(found) != 2 || found[0].Heading != "Workers of a queue" {
		t.Errorf("%+v", found)
	}
	if found, _ := search(list, "nothing of that"); found != nil {
		t.Errorf("%+v", found)
	}
	if found, _ := search(list, "   "); found != nil {
		t.Errorf("%+v", found)
	}
}
