/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * long raw_syscall(long number, ...): straight to the kernel, whatever has replaced libc's syscall(). Without a
 * frame until the kernel has returned: clone and vfork return twice.
 */
	.text
	.globl	raw_syscall
	.hidden	raw_syscall
	.type	raw_syscall, @function
	.p2align 4
raw_syscall:
	.cfi_startproc
	movq	%rdi, %rax
	movq	%rsi, %rdi
	movq	%rdx, %rsi
	movq	%rcx, %rdx
	movq	%r8, %r10
	movq	%r9, %r8
	movq	8(%rsp), %r9
	syscall
	cmpq	$-4095, %rax
	jae	1f
	ret
1:	negl	%eax
	pushq	%rax		/* and the stack is aligned */
	.cfi_adjust_cfa_offset 8
	call	*__errno_location@GOTPCREL(%rip)
	popq	%rcx
	.cfi_adjust_cfa_offset -8
	movl	%ecx, (%rax)
	movq	$-1, %rax
	ret
	.cfi_endproc
	.size	raw_syscall, . - raw_syscall
	.section .note.GNU-stack, "", @progbits
