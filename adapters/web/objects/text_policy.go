package objects

import (
	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/system"
)

// The texts of the form of a policy.
const (
	ruleTitle       = "The rule"
	whichGroup      = "Which runs"
	moreConditions  = "More conditions"
	holdWord        = "Hold"
	denyWord        = "Deny"
	runsOfText      = "runs of"
	toolsHelp       = "Any tool if empty. Commas separate several."
	onInventoryText = "on inventory"
	moreThanText    = "touching more than"
	hostsText       = "hosts,"
	unlessDryText   = "unless they are dry runs"
	releaseText     = "Release by"
	ofTeamsText     = "of"
	distinctText    = "anyone but whoever asked"
	anyInventory    = "any"
	anyAdmin        = "the administrators"
	holdOnlyText    = "The second sentence is only for Hold."
	saysTitle       = "What it says"
	orderTitle      = "Where it stands"
	orderDeny       = "First, policies that deny"
	orderHold       = "Then, policies that hold"
	orderFree       = "What none of them matches starts at once"
	thisOne         = "this one"
	jsonTitle       = "As JSON"
	jsonNote        = "What is empty is left out."
	triedTitle      = "On the last 30 days"
	tryText         = "Try it on the last 30 days"
	sayText         = "Show what it says"
	fileNote        = "The policies come from a file of the server. They change there, and not on this page."
	denyFeature     = "Deny"
	riskFeature     = "A risk"
	actorsFeature   = "Only for some accounts"
	distinctFeature = "Release by another person"
)

// anyText is what a list without a ticked box means.
func anyText(member string) string {
	if member == "approver_teams" {
		return anyAdmin
	}
	return anyInventory
}

func tierOf(lacks map[string]system.Tier, feature string) string {
	if tier, ok := lacks[feature]; ok {
		return " (needs the tier " + shell.Words(string(tier)) + ")"
	}
	return ""
}

func licenceText(what string, tier system.Tier) string {
	return what + " needs a licence of the tier " + shell.Words(string(tier)) + ". Without it, saving is refused."
}

func tooManyText(most, now int) string {
	return "The licence includes " + shell.Plural(most, "policy", "policies") + " in force, and there " +
		isAre(now) + ". Switch this one or another one off, or saving is refused."
}

func isAre(n int) string {
	if n == 1 {
		return "is 1"
	}
	return "are " + shell.Count(n)
}
