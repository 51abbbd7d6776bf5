package shell

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/writ-automation/writ/adapters/httpapi"
)

// fieldSecret names members of the answer, separated by commas, that the API shows once. They are shown on a page that
// is itself the answer, so they are in no cookie and in no address.
const fieldSecret = "_secret"

// onceShown is a value that is shown once.
type onceShown struct{ Name, Value string }

// once returns the page with what the API shows once, or nil if the form asks for none.
func (r *Request) once(form url.Values, a httpapi.Answer) *Page {
	names := form.Get(fieldSecret)
	var answer map[string]any
	if names == "" || json.Unmarshal(a.Body, &answer) != nil {
		return nil
	}
	var list []onceShown
	for _, name := range strings.Split(names, ",") {
		if text, ok := answer[name].(string); ok && text != "" {
			list = append(list, onceShown{Name: Words(name), Value: text})
		}
	}
	if len(list) == 0 {
		return nil
	}
	id, _ := answer["id"].(string)
	next := strings.ReplaceAll(form.Get(fieldNext), "{id}", url.PathEscape(id))
	return &Page{Title: onceTitle, Nav: Settings, Body: oncePage(list, inside(next, "/ui/"))}
}

// Words makes words of the name of a member: "signing_secret" is "Signing secret".
func Words(name string) string {
	name = strings.NewReplacer("_", " ", "-", " ").Replace(name)
	return capital(name)
}

// capital begins a text with a capital letter.
func capital(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
