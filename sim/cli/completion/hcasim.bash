# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# Completion of hcasim for bash. The words are those of `hcasim __complete`.
_hcasim()
{
	local line=${COMP_LINE:0:COMP_POINT} words index current begin=''
	COMPREPLY=()
	read -ra words <<<"$line"
	[[ $line == *[[:space:]] ]] && words+=('')
	for index in "${!words[@]}"; do
		if [[ ${words[index]} == -- && $index -lt $((${#words[@]} - 1)) ]]; then
			if declare -F _command_offset >/dev/null; then
				_command_offset $((index + 1))
			elif ((index == ${#words[@]} - 2)); then
				mapfile -t COMPREPLY < <(compgen -c -- "${words[-1]}")
			fi
			return
		fi
	done
	current=${words[-1]#[\"\']}
	mapfile -t COMPREPLY < <("${words[0]}" __complete "${words[@]:1:${#words[@]}-2}" "$current" 2>/dev/null | cut -f 1)
	# bash replaces only what is behind the last of these characters.
	[[ $current == *[:=]* ]] && begin=${current%"${current##*[:=]}"}
	COMPREPLY=("${COMPREPLY[@]#"$begin"}")
	[[ ${COMPREPLY[*]} == *[/=:] ]] && compopt -o nospace 2>/dev/null
	return 0
}
complete -o bashdefault -o default -F _hcasim hcasim
