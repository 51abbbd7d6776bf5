package shell

import "net/http"

// The texts of the frame, in the order in which they are seen.
const (
	product        = "Writ"
	skipText       = "Skip to content"
	mainNavText    = "Main"
	findText       = "Find or do anything"
	themeText      = "Switch light and dark"
	accountText    = "Your account"
	helpText       = "Help"
	signInText     = "Sign in"
	readOnlyText   = "This install is read-only: changes are refused."
	openText       = "Open install: everybody on this machine is the administrator."
	copyTitle      = "The request as a command"
	copyIntro      = "Nothing was changed. The command makes the same request; it takes the token from WRIT_TOKEN."
	backText       = "Back"
	requiredText   = "required"
	nothingChanged = "Nothing was changed."
	requestText    = "Request"
	copyCurlText   = "Copy as curl"
	copyWritText   = "Copy as writ command"
	moreText       = "More"
	onceTitle      = "Store this now"
	onceIntro      = "It is shown once. The server keeps no readable copy, so nobody can show it again."
	onceDone       = "I have stored it"
)

func entryText(seq int64) string { return "Entry " + Count(seq) + " of the trail." }

// errorTitle is the title of the page of a status.
func errorTitle(status int) string {
	switch status {
	case http.StatusNotFound:
		return "Not here, or not yours to see"
	case http.StatusForbidden:
		return "Not allowed"
	case http.StatusServiceUnavailable:
		return "Not available now"
	case http.StatusConflict, http.StatusPreconditionFailed:
		return "It changed meanwhile"
	case http.StatusTooManyRequests:
		return "Too many requests"
	case http.StatusBadRequest:
		return "That address or form is not right"
	}
	return "Something failed here"
}

// errorHint says what to do about a status.
func errorHint(status int) string {
	switch status {
	case http.StatusNotFound:
		return "The address may be mistyped, the record may be deleted, or you may lack the right to read it."
	case http.StatusForbidden:
		return "An administrator can grant what is missing."
	case http.StatusServiceUnavailable:
		return nothingChanged + " Try again in a moment."
	case http.StatusConflict, http.StatusPreconditionFailed:
		return nothingChanged + " Open the page again to see how things stand."
	case http.StatusInternalServerError:
		return "The server's log has the cause under the request's id."
	}
	return nothingChanged
}
