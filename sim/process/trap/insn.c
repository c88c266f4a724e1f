// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Decodes machine code to struct insn with libzydis, which does not allocate memory or keep state. */
#include <string.h>
#include <sys/ucontext.h>
#include <Zydis/Zydis.h>

#include "process/trap/insn.h"

struct parts { /* an instruction's visible operands by kind */
	const ZydisDecodedInstruction *zi;
	const ZydisDecodedOperand *mem, *reg, *imm, *mask;
	unsigned int num_reg;
	bool mem_first;
};

static int greg_of(ZydisRegister reg)
{
	static const int8_t map[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
				       REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
				       REG_R12, REG_R13, REG_R14, REG_R15};
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	if (ZydisRegisterGetClass(whole) != ZYDIS_REGCLASS_GPR64)
		return INSN_NO_REG;
	return map[ZydisRegisterGetId(whole)];
}

static bool is_high_byte(ZydisRegister reg)
{
	return reg == ZYDIS_REGISTER_AH || reg == ZYDIS_REGISTER_BH || reg == ZYDIS_REGISTER_CH ||
	       reg == ZYDIS_REGISTER_DH;
}

static bool is_vector(ZydisRegister reg)
{
	ZydisRegisterClass class_ = ZydisRegisterGetClass(reg);

	return class_ == ZYDIS_REGCLASS_XMM || class_ == ZYDIS_REGCLASS_YMM || class_ == ZYDIS_REGCLASS_ZMM;
}

static bool set_address(struct insn *insn, const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *mem)
{
	if (mem->mem.type != ZYDIS_MEMOP_TYPE_MEM && mem->mem.type != ZYDIS_MEMOP_TYPE_AGEN)
		return false;
	/* A BAR page is never reached through thread-local storage. */
	if (mem->mem.segment == ZYDIS_REGISTER_FS || mem->mem.segment == ZYDIS_REGISTER_GS)
		return false;
	insn->base = insn->index = INSN_NO_REG;
	if (mem->mem.base == ZYDIS_REGISTER_RIP || mem->mem.base == ZYDIS_REGISTER_EIP)
		insn->rip_rel = true;
	else if (mem->mem.base != ZYDIS_REGISTER_NONE)
		insn->base = greg_of(mem->mem.base);
	if (mem->mem.index != ZYDIS_REGISTER_NONE) {
		insn->index = greg_of(mem->mem.index);
		if (insn->index == INSN_NO_REG)
			return false; /* gather or scatter */
	}
	insn->scale = mem->mem.scale;
	insn->disp = mem->mem.disp.has_displacement ? mem->mem.disp.value : 0;
	insn->addr32 = zi->address_width == 32;
	return true;
}

static bool sort_operands(struct parts *p, const ZydisDecodedOperand *ops, unsigned int num)
{
	for (unsigned int i = 0; i < num; i++) {
		switch (ops[i].type) {
		case ZYDIS_OPERAND_TYPE_MEMORY:
			if (p->mem)
				return false;
			p->mem = &ops[i];
			p->mem_first = i == 0;
			break;
		case ZYDIS_OPERAND_TYPE_REGISTER:
			if (ops[i].encoding == ZYDIS_OPERAND_ENCODING_MASK) {
				p->mask = ops[i].reg.value == ZYDIS_REGISTER_K0 ? NULL : &ops[i];
				break;
			}
			p->reg = &ops[i];
			p->num_reg++;
			break;
		case ZYDIS_OPERAND_TYPE_IMMEDIATE:
			p->imm = &ops[i];
			break;
		default:
			return false;
		}
	}
	return p->mem != NULL;
}

static bool store_gpr(const struct parts *p, struct insn *insn)
{
	int reg;

	if (p->imm && !p->reg) {
		insn->kind = INSN_STORE_IMM;
		insn->imm = p->imm->imm.value.u;
		return true;
	}
	if (!p->reg || p->imm)
		return false;
	reg = greg_of(p->reg->reg.value);
	if (reg == INSN_NO_REG)
		return false;
	insn->kind = INSN_STORE_GPR;
	insn->reg = reg;
	insn->shift = is_high_byte(p->reg->reg.value) ? 8 : 0;
	return true;
}

static bool load_gpr(const struct parts *p, struct insn *insn)
{
	int reg;

	if (p->num_reg != 1 || p->imm)
		return false;
	reg = greg_of(p->reg->reg.value);
	if (reg == INSN_NO_REG)
		return false;
	insn->kind = INSN_LOAD_GPR;
	insn->reg = reg;
	insn->shift = is_high_byte(p->reg->reg.value) ? 8 : 0;
	insn->dst_size = p->reg->size / 8;
	return true;
}

static bool store_vec(const struct parts *p, struct insn *insn, unsigned int off)
{
	if (p->num_reg != 1 || !is_vector(p->reg->reg.value))
		return false;
	insn->kind = INSN_STORE_VEC;
	insn->reg = ZydisRegisterGetId(p->reg->reg.value);
	insn->vec_off = off;
	if (p->mask) {
		insn->mask = ZydisRegisterGetId(p->mask->reg.value);
		insn->elem = p->mem->element_size / 8;
		if (!insn->elem)
			return false;
	}
	return true;
}

static bool load_vec(const struct parts *p, struct insn *insn, unsigned int off)
{
	bool vex = p->zi->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY;

	if (p->num_reg != 1 || p->mask || p->imm || !is_vector(p->reg->reg.value))
		return false;
	insn->kind = INSN_LOAD_VEC;
	insn->reg = ZydisRegisterGetId(p->reg->reg.value);
	insn->vec_off = off;
	insn->clear_all = vex;
	insn->clear_xmm = !vex;
	return true;
}

static bool extract(const struct parts *p, struct insn *insn, unsigned int reg_bytes)
{
	if (!p->mem_first || !p->imm || p->mask)
		return false;
	return store_vec(p, insn, (p->imm->imm.value.u * insn->size) % reg_bytes);
}

static bool string_op(const struct parts *p, const ZydisDecodedInstruction *zi, struct insn *insn)
{
	/* BAR accesses have no segment override (only FS and GS have an effect in 64-bit mode). */
	if (zi->attributes & (ZYDIS_ATTRIB_HAS_SEGMENT_FS | ZYDIS_ATTRIB_HAS_SEGMENT_GS))
		return false;
	switch (zi->mnemonic) {
	case ZYDIS_MNEMONIC_MOVSB:
	case ZYDIS_MNEMONIC_MOVSW:
	case ZYDIS_MNEMONIC_MOVSD:
	case ZYDIS_MNEMONIC_MOVSQ:
		insn->kind = INSN_MOVS;
		break;
	case ZYDIS_MNEMONIC_STOSB:
	case ZYDIS_MNEMONIC_STOSW:
	case ZYDIS_MNEMONIC_STOSD:
	case ZYDIS_MNEMONIC_STOSQ:
		insn->kind = INSN_STOS;
		break;
	default:
		return false;
	}
	insn->rep = zi->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
	insn->addr32 = zi->address_width == 32;
	return true;
}

static bool set_cc(const ZydisDecodedInstruction *zi, struct insn *insn)
{
	if (zi->opcode_map != ZYDIS_OPCODE_MAP_0F || (zi->opcode & 0xf0) != 0x90)
		return false;
	insn->kind = INSN_STORE_COND;
	insn->cond = zi->opcode & 0xf;
	return true;
}

static bool movdir64b(const ZydisDecodedOperand *ops, const ZydisDecodedInstruction *zi, struct insn *insn)
{
	/* The destination address is in a register; the source is the memory operand. */
	if (ops[0].type != ZYDIS_OPERAND_TYPE_REGISTER || ops[1].type != ZYDIS_OPERAND_TYPE_MEMORY)
		return false;
	insn->kind = INSN_MOVDIR64B;
	insn->size = 64;
	insn->reg = greg_of(ops[0].reg.value);
	return set_address(insn, zi, &ops[1]);
}

/* ---- Each mnemonic as a store and as a load -------------------------------------------------------- */

static bool swap_store(const struct parts *p, struct insn *insn)
{
	insn->swap = true;
	return store_gpr(p, insn);
}

static bool swap_load(const struct parts *p, struct insn *insn)
{
	insn->swap = true;
	return load_gpr(p, insn);
}

static bool sign_load(const struct parts *p, struct insn *insn)
{
	insn->sign = true;
	return load_gpr(p, insn);
}

static bool low_store(const struct parts *p, struct insn *insn)
{
	return store_vec(p, insn, 0);
}

static bool high_store(const struct parts *p, struct insn *insn)
{
	return store_vec(p, insn, 8);
}

static bool whole_load(const struct parts *p, struct insn *insn)
{
	return load_vec(p, insn, 0);
}

/* MOVLPS and MOVHPS load one half of the register and keep the other. */
static bool half_load(const struct parts *p, struct insn *insn, unsigned int off)
{
	bool ok = load_vec(p, insn, off);

	insn->clear_xmm = false;
	return ok;
}

static bool low_load(const struct parts *p, struct insn *insn)
{
	return half_load(p, insn, 0);
}

static bool high_load(const struct parts *p, struct insn *insn)
{
	return half_load(p, insn, 8);
}

static bool element_store(const struct parts *p, struct insn *insn)
{
	return extract(p, insn, 16);
}

static bool lane_store(const struct parts *p, struct insn *insn)
{
	return p->reg &&
	       extract(p, insn, ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, p->reg->reg.value) / 8);
}

typedef bool form_fn(const struct parts *p, struct insn *insn);

#define FORM(mnemonic, store, load)                                                                          \
	{                                                                                                    \
		ZYDIS_MNEMONIC_##mnemonic, store, load                                                       \
	}
static const struct {
	ZydisMnemonic mnemonic;
	form_fn *store, *load;
} forms[] = {
	FORM(MOV, store_gpr, load_gpr),
	FORM(MOVNTI, store_gpr, load_gpr),
	FORM(MOVDIRI, store_gpr, load_gpr),
	FORM(MOVBE, swap_store, swap_load),
	FORM(MOVSX, NULL, sign_load),
	FORM(MOVSXD, NULL, sign_load),
	FORM(MOVZX, NULL, load_gpr),
	FORM(MOVHPS, high_store, high_load),
	FORM(MOVHPD, high_store, high_load),
	FORM(VMOVHPS, high_store, NULL),
	FORM(VMOVHPD, high_store, NULL),
	FORM(MOVLPS, low_store, low_load),
	FORM(MOVLPD, low_store, low_load),
	FORM(VMOVLPS, low_store, NULL),
	FORM(VMOVLPD, low_store, NULL),
	FORM(MOVNTPS, low_store, NULL),
	FORM(MOVNTPD, low_store, NULL),
	FORM(MOVNTDQ, low_store, NULL),
	FORM(VMOVNTPS, low_store, NULL),
	FORM(VMOVNTPD, low_store, NULL),
	FORM(VMOVNTDQ, low_store, NULL),
	FORM(MOVD, low_store, whole_load),
	FORM(MOVQ, low_store, whole_load),
	FORM(MOVSS, low_store, whole_load),
	FORM(MOVSD, low_store, whole_load),
	FORM(MOVAPS, low_store, whole_load),
	FORM(MOVAPD, low_store, whole_load),
	FORM(MOVUPS, low_store, whole_load),
	FORM(MOVUPD, low_store, whole_load),
	FORM(MOVDQA, low_store, whole_load),
	FORM(MOVDQU, low_store, whole_load),
	FORM(VMOVD, low_store, whole_load),
	FORM(VMOVQ, low_store, whole_load),
	FORM(VMOVSS, low_store, whole_load),
	FORM(VMOVSD, low_store, whole_load),
	FORM(VMOVAPS, low_store, whole_load),
	FORM(VMOVAPD, low_store, whole_load),
	FORM(VMOVUPS, low_store, whole_load),
	FORM(VMOVUPD, low_store, whole_load),
	FORM(VMOVDQA, low_store, whole_load),
	FORM(VMOVDQU, low_store, whole_load),
	FORM(VMOVDQA32, low_store, whole_load),
	FORM(VMOVDQA64, low_store, whole_load),
	FORM(VMOVDQU8, low_store, whole_load),
	FORM(VMOVDQU16, low_store, whole_load),
	FORM(VMOVDQU32, low_store, whole_load),
	FORM(VMOVDQU64, low_store, whole_load),
	FORM(LDDQU, NULL, whole_load),
	FORM(VLDDQU, NULL, whole_load),
	FORM(MOVNTDQA, NULL, whole_load),
	FORM(VMOVNTDQA, NULL, whole_load),
	FORM(PEXTRB, element_store, NULL),
	FORM(PEXTRW, element_store, NULL),
	FORM(PEXTRD, element_store, NULL),
	FORM(PEXTRQ, element_store, NULL),
	FORM(EXTRACTPS, element_store, NULL),
	FORM(VPEXTRB, element_store, NULL),
	FORM(VPEXTRW, element_store, NULL),
	FORM(VPEXTRD, element_store, NULL),
	FORM(VPEXTRQ, element_store, NULL),
	FORM(VEXTRACTPS, element_store, NULL),
	FORM(VEXTRACTF128, lane_store, NULL),
	FORM(VEXTRACTI128, lane_store, NULL),
	FORM(VEXTRACTF32X4, lane_store, NULL),
	FORM(VEXTRACTI32X4, lane_store, NULL),
	FORM(VEXTRACTF64X2, lane_store, NULL),
	FORM(VEXTRACTI64X2, lane_store, NULL),
	FORM(VEXTRACTF32X8, lane_store, NULL),
	FORM(VEXTRACTI32X8, lane_store, NULL),
	FORM(VEXTRACTF64X4, lane_store, NULL),
	FORM(VEXTRACTI64X4, lane_store, NULL),
};

static bool classify(const struct parts *p, struct insn *insn)
{
	for (unsigned int i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (forms[i].mnemonic == p->zi->mnemonic) {
			form_fn *form = p->mem_first ? forms[i].store : forms[i].load;

			return form && form(p, insn);
		}
	}
	return p->mem_first && set_cc(p->zi, insn);
}

bool insn_decode(const void *code, size_t len, struct insn *insn)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction zi;
	ZydisDecoderContext zc;
	ZydisDecoder decoder;
	struct parts p = {.zi = &zi};

	memset(insn, 0, sizeof(*insn));
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, &zc, code, len, &zi)))
		return false;
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeOperands(&decoder, &zc, &zi, ops, zi.operand_count)))
		return false;
	if (zi.attributes & ZYDIS_ATTRIB_HAS_LOCK)
		return false;
	insn->len = zi.length;
	if (zi.meta.category == ZYDIS_CATEGORY_STRINGOP) {
		insn->size = ops[0].size / 8;
		return string_op(&p, &zi, insn);
	}
	if (zi.mnemonic == ZYDIS_MNEMONIC_MOVDIR64B)
		return movdir64b(ops, &zi, insn);
	if (!sort_operands(&p, ops, zi.operand_count_visible))
		return false;
	insn->size = p.mem->size / 8;
	if (!insn->size || insn->size > INSN_MAX_MEM || !set_address(insn, &zi, p.mem))
		return false;
	return classify(&p, insn);
}

#define LOOK_AHEAD 6 /* instructions: a copy loads, may swap bytes, and stores */

static bool leaves(ZydisInstructionCategory category)
{
	return category == ZYDIS_CATEGORY_COND_BR || category == ZYDIS_CATEGORY_UNCOND_BR ||
	       category == ZYDIS_CATEGORY_CALL || category == ZYDIS_CATEGORY_RET;
}

bool insn_more(const void *code, size_t len, const struct insn *insn)
{
	ZydisDecodedInstruction zi;
	ZydisDecoder decoder;
	struct insn next;
	size_t at = insn->len;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (unsigned int i = 0; i < LOOK_AHEAD && at < len; i++, at += zi.length) {
		const uint8_t *p = (const uint8_t *)code + at;

		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, p, len - at, &zi)) ||
		    leaves(zi.meta.category))
			return false;
		if (insn_decode(p, len - at, &next) && next.kind <= INSN_STORE_VEC &&
		    next.base == insn->base && next.index == insn->index && next.base != INSN_NO_REG)
			return true;
	}
	return false;
}

bool insn_run(const void *code, size_t len, const struct insn *insn)
{
	struct insn next;

	return insn->len < len && insn_decode((const uint8_t *)code + insn->len, len - insn->len, &next) &&
	       next.kind <= INSN_LOAD_GPR;
}

void insn_format(const void *code, size_t len, uint64_t rip, char *text, size_t size)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction zi;
	ZydisFormatter formatter;
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, len, &zi, ops)) ||
	    !ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&formatter, &zi, ops, zi.operand_count_visible,
							  text, size, rip, ZYAN_NULL)))
		strncpy(text, "(not an instruction)", size - 1);
	text[size - 1] = '\0';
}
