package objects

import (
	"strings"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/secrets"
)

// The texts of the forms.
const (
	recordsTitle = "Records"
	recordsIntro = "What you may create here. Each form has every member that the API takes."
	moreGroup    = "More"
	secretGroup  = "Secrets"
	settingGroup = "Settings"
	chooseText   = "Choose one"
	noneText     = "None"
	keepsText    = "Type to replace it; empty keeps what is stored."
	linesHelp    = "One on each line."
	jsonHelp     = "JSON."
	idHelp       = "There are too many to list, or you may not list them: enter the id."
	customText   = "A type of your own."
	chooseTitle  = "New credential"
	chooseIntro  = "Choose what it gives access to. The kind cannot change later."
	createText   = "Create"
	saveText     = "Save"
	overText     = "Save over it"
	cancelText   = "Cancel"
	deleteText   = "Delete"
	firesTitle   = "Next times"
	firesButton  = "Show the next times"
	neverText    = "It never fires."
	staleTitle   = "Somebody changed it meanwhile"
	staleText    = "Nothing of yours was saved, and all that you entered is still here. Save over it replaces what " +
		"is below."
	fixedText   = "It never changes once it is made. Delete it and make another one."
	gone        = "cleared"
	usedTitle   = "It is used by"
	secretNote  = "The next page shows it once."
	copyName    = "Copy of "
	createdText = "Created."
	savedText   = "Saved."
	deletedText = "Deleted."
)

func newTitle(t table) string { return "New " + bare(t) }

func editTitle(name string) string { return "Edit " + name }

func nameTitle(name string) string { return shell.Words(name) }

func deleteTitle(t table, name string) string { return "Delete " + bare(t) + " " + name }

func deleteAsk(t table, name string) string {
	return "The " + bare(t) + " " + name + " is deleted for good. The trail keeps who deleted it."
}

// bare returns the noun without its article.
func bare(t table) string {
	_, noun, _ := strings.Cut(t.Noun, " ")
	return noun
}

func deniedText(t table) string {
	return "You may read this " + bare(t) + ". To change it you need the level manage on it."
}

func unreadText(id string) string { return id + " (you cannot read it)" }

func boundsText(least, most int64) string {
	return "From " + shell.Count(least) + " to " + shell.Count(most) + "."
}

func clearText(name string) string { return "Delete the stored " + strings.ReplaceAll(name, "_", " ") }

// membersText lists the secrets of a kind.
func membersText(members []secrets.Member) string {
	var names []string
	for _, m := range members {
		if m.Secret {
			names = append(names, strings.ReplaceAll(m.Name, "_", " "))
		}
	}
	return shell.Words(strings.Join(names, ", ")) + "."
}

func othersText(n int) string {
	if n == 1 {
		return "1 record that you cannot read uses it too."
	}
	return shell.Count(n) + " records that you cannot read use it too."
}

func zoneText(zone string) string {
	if zone == "" {
		return "In the server's time zone."
	}
	return "In " + zone + "."
}
