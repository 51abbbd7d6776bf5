package help

import "github.com/writ-automation/writ/adapters/web/shell"

const (
	helpText      = "Help"
	introText     = "The guides and the reference of this version. They need no network."
	searchText    = "Search the manual"
	findText      = "Search"
	guidesText    = "Guides"
	referenceText = "Reference"
	apiText       = "The operations of the API"
	contentsText  = "On this page"
	foundText     = "Found"
)

func foundSentence(v indexView) string {
	switch {
	case len(v.Found) == 0:
		return "No page has all words of “" + v.Words + "”."
	case v.More > 0:
		return "The best " + shell.Count(len(v.Found)) + " of " + shell.Plural(len(v.Found)+v.More, "passage") + "."
	}
	return shell.Plural(len(v.Found), "passage") + "."
}
