package auth

import (
	"strconv"
	"time"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/identity"
)

// The texts of the sign-in.
const (
	signInTitle      = "Sign in"
	nextText         = "Then you are back on the page that you asked for."
	insecureText     = "Signing in takes https: over this connection a browser may hold no session."
	oidcText         = "Sign in with OpenID Connect"
	samlText         = "Sign in with SAML"
	orText           = "or by password"
	nameLabel        = "User name"
	passwordLabel    = "Password"
	tokenSummary     = "No password yet: sign in with a token"
	tokenIntro       = "At its first start,"
	tokenIntroEnd    = "prints the token of the administrator."
	tokenLabel       = "Token"
	tokenButton      = "Sign in with the token"
	resetText        = "If no administrator can sign in, this command on the server makes another token:"
	browserToken     = "Browser session"
	badPasswordText  = "No account has this name and this password."
	badTokenText     = "This token is not valid, or it has ended."
	limitedTokenText = "This token may not open a session. A token with fewer limits can."
)

func laterText(seconds string) string {
	if n, err := strconv.Atoi(seconds); err == nil && n > 0 {
		return "Too many attempts failed. Try again in " + shell.Duration(time.Duration(n)*time.Second) + "."
	}
	return "Too many attempts failed. Try again in a minute."
}

// The texts of the account.
const (
	accountTitle    = "Your account"
	profileTitle    = "Who you are"
	looksTitle      = "How pages look"
	passwordTitle   = "Password"
	tokensTitle     = "Tokens"
	sessionTitle    = "This session"
	roleLabel       = "Role"
	teamsLabel      = "Teams"
	orgsLabel       = "Organizations"
	noneText        = "none"
	themeLabel      = "Theme"
	densityLabel    = "Density"
	zoneLabel       = "Time zone"
	zoneHelp        = "As in Europe/Berlin. Times of pages are shown in it."
	zoneWrong       = "is no time zone. Names are like Europe/Berlin."
	keysLabel       = "Shortcuts of a single letter"
	saveText        = "Save"
	currentLabel    = "Current password"
	currentHelp     = "Empty if you have none yet."
	newLabel        = "New password"
	newHelp         = "At least 12 characters."
	passwordButton  = "Change password"
	passwordDone    = "Password changed. Your other sessions have ended."
	passwordEffect  = "Your other sessions end, and so do the tokens that you made for yourself."
	newTokenTitle   = "New token"
	tokenNameLabel  = "Name"
	tokenNameHelp   = "What will use it."
	tokenEndsLabel  = "Ends after"
	tokenScopeLabel = "May do"
	tokenMakeText   = "Create token"
	tokenOnceTitle  = "Your new token"
	tokenOnceText   = "This is the only time that it is shown. Whoever has it can do what it allows."
	tokenStoredText = "I have stored it"
	copyText        = "Copy"
	revokeDone      = "Token deleted. It no longer works anywhere."
	tokensElsewhere = "An administrator can list and delete your tokens."
	noTokensText    = "You have no tokens."
	signOutText     = "Sign out"
	settingsText    = "Settings"
	openSession     = "This install asks nobody to sign in."
	neverText       = "never"
)

func roleText(r identity.Role) string {
	switch r {
	case identity.Admin:
		return "administrator"
	case identity.Operator:
		return "operator"
	case identity.Viewer:
		return "viewer"
	}
	return string(r)
}

func accountSentence(m identity.Me) string {
	if m.Open {
		return "This install is open: you act as " + m.User.Username + ", " + roleText(m.User.Role) + "."
	}
	return "You are signed in as " + m.User.Username + ", " + roleText(m.User.Role) + "."
}

// endings are the choices of how long a token lasts, in seconds.
func endings() []shell.Choice {
	return []shell.Choice{{Value: "7776000", Label: "90 days"}, {Value: "86400", Label: "1 day"},
		{Value: "2592000", Label: "30 days"}, {Value: "31536000", Label: "1 year"}, {Value: "", Label: neverText}}
}

func scopes() []shell.Choice {
	return []shell.Choice{{Value: "", Label: "all that you may do"}, {Value: "read", Label: "read"},
		{Value: "read,launch", Label: "read, and launch templates"},
		{Value: "read,launch,operate", Label: "read, launch and operate"}}
}

// The texts of the first minute.
const (
	welcomeTitle  = "First minute"
	welcomeDone   = "Everything here is done."
	runTitle      = "Run something"
	runText       = "A script on this machine shows what a run looks like."
	runButton     = "Run"
	runTicked     = "This install has runs."
	firstName     = "First run"
	reachTitle    = "Reach a host"
	reachText     = "Paste hosts, one in each line, and how to sign in there. A real run pings them."
	reachTicked   = "A run has reached hosts."
	hostsLabel    = "Hosts"
	hostsHelp     = "One in each line, with variables if you want: web1 ansible_host=192.0.2.10"
	loginLabel    = "Account on the hosts"
	waysLabel     = "Sign in there with"
	keyLabel      = "Private key"
	keyHelp       = "In a form that OpenSSH reads. It is sealed and never shown again."
	hostPassLabel = "Password of the account"
	pingButton    = "Ping these hosts"
	bringTitle    = "Bring what you have"
	bringText     = "Templates, inventories and schedules can be written in files, and stored at once."
	importText    = "Exports of AWX, Semaphore, Rundeck, Jenkins, Puppet and Chef become what is here. You see it first."
	importLink    = "Import an export"
	bringTicked   = "This install has templates."
	bringLink     = "The catalog as code"
	bringCLI      = "On the command line:"
	hideText      = "Hide this page"
	setPassword   = "Set a password"
	pingName      = "Ping first hosts"
	adminRights   = "Administrators can do this."
	rightsText    = "Operators and administrators can do this."
)

func welcomeSentence(done int) string {
	switch done {
	case 0:
		return "Three things show what this install can do."
	case 3:
		return welcomeDone
	}
	return strconv.Itoa(done) + " of 3 are done."
}

func stepFailed(step, text string) string { return step + " failed: " + text }

func createdNote(names []string) string {
	if len(names) == 0 {
		return ""
	}
	out := "Already created: "
	for i, n := range names {
		if i > 0 {
			out += ", "
		}
		out += n
	}
	return out + ". "
}
